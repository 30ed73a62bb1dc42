#include "skein/core/error.h"

#include "pieces.h"

namespace skein::text {
namespace {

class RenumberedModel final : public WordModel {
 public:
  RenumberedModel(std::unique_ptr<WordModel> inner, Vocabulary vocabulary)
      : WordModel(std::move(vocabulary)), inner_(std::move(inner)) {
    set_unknown("<unk>");
    const Vocabulary& pieces = inner_->vocabulary();
    for (int32_t id = 0; id < pieces.size(); ++id) {
      const int32_t other =
          id == inner_->unknown() ? -1 : this->vocabulary().find(pieces.token(id));
      ids_.push_back(other < 0 ? unknown() : other);
    }
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    const size_t before = ids.size();
    inner_->encode(word, ids);
    for (size_t i = before; i < ids.size(); ++i) ids[i] = ids_[ids[i]];
  }

  std::string piece_of(int32_t id) const override { return std::string(vocabulary().token(id)); }
  bool continues_word(int32_t) const override { return false; }
  bool divides_at(std::string_view mark) const override { return inner_->divides_at(mark); }
  std::string to_json() const override { SKEIN_CHECK(false); }

 private:
  std::unique_ptr<WordModel> inner_;
  std::vector<int32_t> ids_;  // by those of the inner one
};

}  // namespace

std::unique_ptr<WordModel> renumbered_model(std::unique_ptr<WordModel> inner,
                                            Vocabulary vocabulary) {
  return std::make_unique<RenumberedModel>(std::move(inner), std::move(vocabulary));
}

}  // namespace skein::text
