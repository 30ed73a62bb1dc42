// Options of a model that one architecture alone has.
#pragma once

#include <map>
#include <memory>
#include <typeindex>

namespace skein {

// Holds at most one value of each type; the types are structs that the architectures' folders
// define. A value keeps its address for as long as this lives, also when another OwnOptions is
// assigned, so that Options may be bound to its fields.
class OwnOptions {
 public:
  OwnOptions() = default;
  OwnOptions(const OwnOptions& other) { *this = other; }
  OwnOptions& operator=(const OwnOptions& other) {
    for (auto& [type, box] : boxes_)
      if (!other.boxes_.contains(type)) box->begin_anew();
    for (const auto& [type, box] : other.boxes_) {
      auto& own = boxes_[type];
      if (own)
        own->take(*box);
      else
        own = box->copy();
    }
    return *this;
  }

  // The value of type T; a default T where none is held, which is made when somebody asks for it to
  // change it.
  template <class T>
  const T& get() const {
    static const T begins{};
    const auto found = boxes_.find(typeid(T));
    return found == boxes_.end() ? begins : static_cast<const Box<T>&>(*found->second).value;
  }
  template <class T>
  T& get() {
    auto& own = boxes_[typeid(T)];
    if (!own) own = std::make_unique<Box<T>>();
    return static_cast<Box<T>&>(*own).value;
  }

 private:
  struct AnyBox {
    virtual ~AnyBox() = default;
    virtual std::unique_ptr<AnyBox> copy() const = 0;
    virtual void take(const AnyBox& other) = 0;  // of the same type
    virtual void begin_anew() = 0;
  };
  template <class T>
  struct Box : AnyBox {
    std::unique_ptr<AnyBox> copy() const override { return std::make_unique<Box>(*this); }
    void take(const AnyBox& other) override { value = static_cast<const Box&>(other).value; }
    void begin_anew() override { value = {}; }
    T value = {};
  };

  std::map<std::type_index, std::unique_ptr<AnyBox>> boxes_;
};

}  // namespace skein
