#include "skein/comm/mpi.h"

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#endif
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mpi.h>

#include "skein/comm/window.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"

namespace skein {
namespace {

void check(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  int kind = code;
  MPI_Error_class(code, &kind);
  if (kind == MPI_ERR_TRUNCATE)
    throw Error(ExitCode::internal,
                fmt::format("{} failed: {}{}", operation, text, in_another_exchange()));
  throw LostRank(
      fmt::format("{} failed: {}. Another rank may have ended: look for the first error of the job",
                  operation, text));
}

// Destructors run while an exception passes must not wait for peers, who may wait for this rank.
bool unwinding() { return std::uncaught_exceptions() > 0; }

// MPI from its start to its end; held by every group and every transfer.
class MpiJob {
 public:
  MpiJob(int64_t largest_piece, bool share_memory)
      : largest_piece_(largest_piece), shares_memory_(share_memory) {
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED)
      fail("{} was built without threads (MPI_THREAD_SERIALIZED); use one that has them",
           mpi_version());
    any_thread_ = provided == MPI_THREAD_MULTIPLE;
  }
  // A process that leaves without MPI_Finalize makes the launcher end the others.
  ~MpiJob() {
    if (!unwinding()) MPI_Finalize();
  }
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  int64_t largest_piece() const { return largest_piece_; }
  bool shares_memory() const { return shares_memory_; }

  [[noreturn]] void abort(int exit_code) const {
    int main_thread = 0;
    // Where MPI takes one thread at a time another may be in it now; the launcher ends the job of a
    // process that just leaves.
    if (any_thread_ || (MPI_Is_thread_main(&main_thread) == MPI_SUCCESS && main_thread))
      MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  // Calls move(offset, count) for the parts of a message; once for an empty one.
  template <class Move>
  void in_pieces(int64_t bytes, Move move) const {
    int64_t offset = 0;
    do {
      move(offset, narrow<int>(std::min(largest_piece_, bytes - offset)));
      offset += largest_piece_;
    } while (offset < bytes);
  }

 private:
  int64_t largest_piece_;
  bool shares_memory_, any_thread_ = false;
};

// `count` bytes that stand for a whole block of `block_bytes`: a call that moves one of them for
// each rank moves this part of every block.
class PartOfBlock {
 public:
  PartOfBlock(int count, int64_t block_bytes) {
    MPI_Datatype part = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(count, MPI_BYTE, &part), "MPI_Type_contiguous");
    const int code = MPI_Type_create_resized(part, 0, block_bytes, &type_);
    MPI_Type_free(&part);
    check(code, "MPI_Type_create_resized");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  ~PartOfBlock() { MPI_Type_free(&type_); }
  PartOfBlock(const PartOfBlock&) = delete;
  PartOfBlock& operator=(const PartOfBlock&) = delete;

  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class MpiTransfer {
 public:
  MpiTransfer(std::shared_ptr<MpiJob> job, const char* operation)
      : job_(std::move(job)), operation_(operation) {}

  // Valid until the next call.
  MPI_Request* add(int count) {
    counts_.push_back(count);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }

  void wait_sent() {
    for (MPI_Request& request : requests_) check(MPI_Wait(&request, MPI_STATUS_IGNORE), operation_);
  }

  void wait_received() {
    for (size_t i = 0; i < requests_.size(); ++i) {
      MPI_Status status;
      int count = 0;
      check(MPI_Wait(&requests_[i], &status), operation_);
      check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
      SKEIN_CHECK_EQ(count, counts_[i]);
    }
  }

 private:
  std::shared_ptr<MpiJob> job_;
  const char* operation_;
  std::vector<MPI_Request> requests_;
  std::vector<int> counts_;
};

// The ranks' segments of a window in shared memory.
class SharedMemory {
 public:
  // Collective over comm. Null on every rank where they are not on one host or one of them gets no
  // memory.
  static std::unique_ptr<SharedMemory> make(MPI_Comm comm, int rank, int size) {
    auto made = std::make_unique<SharedMemory>();
    int here = 0, all = 0;
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made->host_),
          "MPI_Comm_split_type");
    check(MPI_Comm_size(made->host_, &here), "MPI_Comm_size");
    int good = here == size && made->allocate(size);
    check(MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    if (here == size && !all && rank == 0)
      log::warn(
          "the {} ranks of a group on this host get no shared memory (is /dev/shm full?); they "
          "exchange messages instead",
          size);
    if (!all) return nullptr;
    check(MPI_Barrier(comm), "MPI_Barrier");
    made->window_ = std::make_unique<Window>(rank, made->segments_);
    return made;
  }
  ~SharedMemory() {
    if (unwinding()) return;
    if (memory_ != MPI_WIN_NULL) MPI_Win_free(&memory_);
    if (host_ != MPI_COMM_NULL) MPI_Comm_free(&host_);
  }
  Window* window() { return window_.get(); }

 private:
  bool allocate(int size) {
    void* own = nullptr;
    MPI_Comm_set_errhandler(host_, MPI_ERRORS_RETURN);
    if (MPI_Win_allocate_shared(Window::kSegment, 1, MPI_INFO_NULL, host_, &own, &memory_) !=
        MPI_SUCCESS)
      return false;
    std::memset(own, 0, 64);
    for (int r = 0; r < size; ++r) {
      MPI_Aint bytes = 0;
      int unit = 0;
      void* segment = nullptr;
      if (MPI_Win_shared_query(memory_, r, &bytes, &unit, &segment) != MPI_SUCCESS) return false;
      segments_.push_back(static_cast<std::byte*>(segment));
    }
    return true;
  }

  MPI_Comm host_ = MPI_COMM_NULL;
  MPI_Win memory_ = MPI_WIN_NULL;
  std::vector<std::byte*> segments_;
  std::unique_ptr<Window> window_;
};

class MpiGroup : public Group {
 public:
  MpiGroup(std::shared_ptr<MpiJob> job, MPI_Comm comm) : job_(std::move(job)), comm_(comm) {
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~MpiGroup() override {
    shared_.reset();
    if (comm_ != MPI_COMM_WORLD && !unwinding()) MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) override {
    check_member(peer);
    const auto transfer = std::make_shared<MpiTransfer>(job_, "MPI_Isend");
    job_->in_pieces(bytes, [&](int64_t offset, int count) {
      check(MPI_Isend(data + offset, count, MPI_BYTE, peer, tag, comm_, transfer->add(count)),
            "MPI_Isend");
    });
    return Work([transfer] { transfer->wait_sent(); });
  }

  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    check_member(peer);
    const auto transfer = std::make_shared<MpiTransfer>(job_, "MPI_Irecv");
    job_->in_pieces(bytes, [&](int64_t offset, int count) {
      check(MPI_Irecv(data + offset, count, MPI_BYTE, peer, tag, comm_, transfer->add(count)),
            "MPI_Irecv");
    });
    return Work([transfer] { transfer->wait_received(); });
  }

  Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    const bool in_place = in == out + rank_ * bytes;
    in_parts(bytes, [&](int64_t offset, int count, MPI_Datatype type) {
      const void* from = in_place ? MPI_IN_PLACE : static_cast<const void*>(in + offset);
      check(MPI_Allgather(from, count, type, out + offset, count, type, comm_), "MPI_Allgather");
    });
    return {};
  }

  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    check_member(root);
    job_->in_pieces(bytes, [&](int64_t offset, int count) {
      check(MPI_Bcast(data + offset, count, MPI_BYTE, root, comm_), "MPI_Bcast");
    });
    return {};
  }

  void meet() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

  std::unique_ptr<Group> split(int color, int key) override {
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, color, key, &part), "MPI_Comm_split");
    return std::make_unique<MpiGroup>(job_, part);
  }

  Window* window() override {
    if (!asked_for_window_ && job_->shares_memory())
      shared_ = SharedMemory::make(comm_, rank_, size_);
    asked_for_window_ = true;
    return shared_ ? shared_->window() : nullptr;
  }

  void abort(int exit_code) override { job_->abort(exit_code); }

 private:
  void check_member(int peer) const { SKEIN_CHECK(peer >= 0 && peer < size_); }

  // Calls move(offset, count, type) so that size() blocks of `bytes` are moved, each call within
  // the counts MPI takes.
  template <class Move>
  void in_parts(int64_t bytes, Move move) const {
    if (bytes <= job_->largest_piece()) return move(0, narrow<int>(bytes), MPI_BYTE);
    job_->in_pieces(bytes, [&](int64_t offset, int count) {
      const PartOfBlock part(count, bytes);
      move(offset, 1, part.type());
    });
  }

  std::shared_ptr<MpiJob> job_;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  bool asked_for_window_ = false;
  std::unique_ptr<SharedMemory> shared_;
};

}  // namespace

std::unique_ptr<Group> start_mpi(int64_t largest_piece, bool share_memory) {
  SKEIN_CHECK(largest_piece >= 1 && largest_piece <= int64_t{1} << 30);
  int started = 0;
  check(MPI_Initialized(&started), "MPI_Initialized");
  SKEIN_CHECK(!started);
  return std::make_unique<MpiGroup>(std::make_shared<MpiJob>(largest_piece, share_memory),
                                    MPI_COMM_WORLD);
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  const std::string whole(text);
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace skein
