// The world as named axes pp × dp × tp. No other code turns a rank number into a coordinate:
//   rank = (pp_index * dp + dp_index) * tp + tp_index
// so tensor-parallel peers are neighbours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/comm/watchdog.h"

namespace skein {

struct MeshShape {
  int pp = 1;  // pipeline stages
  int dp = 1;  // data-parallel replicas
  int tp = 1;  // tensor-parallel shards
  int ranks() const { return pp * dp * tp; }
  bool operator==(const MeshShape&) const = default;
};

// Throws a usage error when ranks != shape.ranks(). It names both numbers, and the data-parallel
// size that would fit.
void check_shape(int ranks, const MeshShape& shape);

// What to say of tensor-parallel ranks on these hosts; "" where it is one.
std::string spread_warning(const std::vector<std::string>& hosts);

// What to say of a GPU that has so many free bytes before we take any; "" up to a tenth, which
// contexts take.
std::string taken_warning(int64_t free, int64_t total);

class Mesh {
 public:
  // Collective over `world`, which must outlive the mesh. A usage error as check_shape has it;
  // warns where tensor-parallel ranks of a group are on several hosts.
  Mesh(Group& world, MeshShape shape);

  const MeshShape& shape() const { return shape_; }
  Group& world() const { return world_; }
  Group& pp() const { return *pp_; }  // same dp and tp index, ordered by stage
  Group& dp() const { return *dp_; }
  Group& tp() const { return *tp_; }
  int stage() const { return pp_->rank(); }
  bool first_stage() const { return stage() == 0; }
  bool last_stage() const { return stage() == shape_.pp - 1; }
  // Collective, before connect. From now on an exchange of this thread that takes too long ends the
  // job, by whatever way it goes, and so does its silence; timeout and folder as Watchdog::Settings
  // has them.
  void watch(Device device, double timeout, const std::string& folder);
  // Collective; watches exchanges, too. From the first call on, whatever models share the mesh,
  // devices of the ranks exchange tensors without the host where they can
  // (comm/device_transport.h). Warns of a GPU that others use.
  void connect(Device device, double timeout);
  // Collective. Throws Error(internal) where members of a group have not been in as many
  // collectives of it: one has left one out, and takes what it gets since for something else.
  void check_in_step() const;
  // Collective over pp(): every stage gets what the last one has.
  void share_last_stage(const Tensor& tensor) const;
  // Collective over dp() and pp(): every rank gets the sum over data-parallel ranks of what the
  // last stages have. Numbers that are 0 on all of them but one come as they are.
  void share_results(const Tensor& numbers) const;
  // The world rank at these coordinates.
  int rank_at(int pp_index, int dp_index, int tp_index) const {
    return (pp_index * shape_.dp + dp_index) * shape_.tp + tp_index;
  }

 private:
  Group& world_;
  MeshShape shape_;
  std::shared_ptr<Watchdog> watchdog_;  // after the groups, which it looks after, it goes
  std::unique_ptr<Group> pp_, dp_, tp_;
  bool watched_ = false, connected_ = false;
};

}  // namespace skein
