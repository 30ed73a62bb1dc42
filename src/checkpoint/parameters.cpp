#include "skein/checkpoint/parameters.h"

namespace skein::checkpoint {

Piece piece_of(const std::string& kind, const Parameter& parameter, int64_t begin,
               const Tensor& data) {
  const Tensor host = data.to(Device{});
  Piece piece{
      kind + "/" + parameter.tensor(), data.dtype(), parameter.shape.dims(), parameter.box_start(),
      parameter.box_extent(),          begin,        begin + data.size(),    host.bytes_data()};
  if (data.device() == Device{}) return piece;
  piece.copy = host;
  piece.tensor = data;
  return piece;
}

std::string weight_name(const std::string& tensor) { return "param/" + tensor; }

std::vector<Piece> parameter_pieces(const Parameters& parameters) {
  std::vector<Piece> pieces;
  for (const Parameter& parameter : parameters.all())
    pieces.push_back(
        piece_of("param", parameter, 0, parameter.value.flat(0, parameter.valid_size())));
  return pieces;
}

void load_weights(const CheckpointInfo& from, Parameters& parameters, Group& world) {
  parameters.allocate(false);
  load_checkpoint(from, parameter_pieces(parameters), false, world);
  parameters.values_changed();
}

}  // namespace skein::checkpoint
