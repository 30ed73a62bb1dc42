// The peer of `skein bench --bench.what=collectives`: plain MPI_Allreduce, and in place in pieces.
//   mpicxx -O2 tools/bench/mpi_allreduce.cpp -o mpi_allreduce && mpirun -np 2 ./mpi_allreduce
#include <algorithm>
#include <cstdio>
#include <mpi.h>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto measure = [&](const char* name, long kib, auto work) {
    std::vector<double> seconds;
    for (int i = 0; i < 8; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      work();
      if (i > 0) seconds.push_back(MPI_Wtime() - begin);
    }
    std::sort(seconds.begin(), seconds.end());
    if (rank == 0)
      std::printf("%s of %ld KiB: %.3f ms, %.2f GB/s\n", name, kib, seconds[3] * 1e3,
                  kib * 1024 / seconds[3] * 1e-9);
  };
  for (long kib : {64L, 1024L, 16384L, 65536L, 262144L}) {
    std::vector<float> x(kib * 256, 1.0f), sum(x.size());
    measure("MPI_Allreduce", kib, [&] {
      MPI_Allreduce(x.data(), sum.data(), static_cast<int>(x.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
    measure("in place, pieces of 256 KiB", kib, [&] {
      for (size_t i = 0; i < sum.size(); i += 65536)
        MPI_Allreduce(MPI_IN_PLACE, sum.data() + i,
                      static_cast<int>(std::min<size_t>(65536, sum.size() - i)), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    });
  }
  MPI_Finalize();
}
