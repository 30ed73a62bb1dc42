#include "skein/data/stores/hdf5_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "hdf5_bytes.h"
#include "hdf5_heap.h"
#include "hdf5_messages.h"
#include "hdf5_tree.h"

namespace skein::data {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint64_t kSuperblockBytes = 44, kSuperblockRoot = 36;
constexpr size_t kLinkRecord = 11, kAttributeRecord = 17;
constexpr uint64_t kMostKept = uint64_t{1} << 19;  // links and attributes of a file

// Types of messages in object headers (File Format Specification, IV.A.2).
enum : uint64_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kLink = 0x06,
  kExternal = 0x07,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15
};

struct Message {
  uint64_t type = 0;
  bool shared = false;
  Bytes data;
};

bool is_read(uint64_t type) {
  constexpr std::array kRead = {kDataspace,     kDatatype, kLayout,  kAttribute,
                                kAttributeInfo, kLink,     kLinkInfo};
  return std::find(kRead.begin(), kRead.end(), type) != kRead.end();
}

// IV.A.1.b, version 2: hands each message to `found`.
class ObjectHeader {
 public:
  using Found = std::function<void(const Message& message)>;

  ObjectHeader(const Hdf5Bytes& file, uint64_t at, const Found& found)
      : file_(file), found_(found) {
    const uint64_t prefix = read_prefix(at);
    read_messages(file.block(at, prefix + first_bytes_, "OHDR").subspan(prefix));
    for (size_t i = 0; i < more_.size(); ++i) read_messages(more(more_[i].first, more_[i].second));
  }

 private:
  uint64_t read_prefix(uint64_t at) {
    Hdf5Cursor start(file_.at(at, 6));
    require(
        hdf5_text(start.take(4)) == "OHDR" && start.number(1) == 2,
        "the object at byte {} has no header of version 2; write the file with libver=\"latest\"",
        at);
    const uint64_t flags = start.number(1);
    numbered_ = (flags & 4) != 0;
    const uint64_t prefix = 6 + ((flags & 0x20) ? 16 : 0) + ((flags & 0x10) ? 4 : 0);
    first_bytes_ = Hdf5Cursor(file_.at(at + prefix, hdf5_width(flags))).number(hdf5_width(flags));
    require(first_bytes_ <= file_.size(), "the header at byte {} has {} bytes", at, first_bytes_);
    return prefix + hdf5_width(flags);
  }

  void read_messages(Bytes bytes) {
    const size_t head = numbered_ ? 6 : 4;
    for (Hdf5Cursor cursor(bytes); cursor.left() >= head;) {
      const uint64_t type = cursor.number(1), size = cursor.number(2), flags = cursor.number(1);
      if (numbered_) cursor.skip(2);
      const Message message{type, (flags & 2) != 0, cursor.take(size)};
      if (type != kContinuation) {
        found_(message);
        continue;
      }
      Hdf5Cursor body(message.data);
      const uint64_t at = body.number(8);
      more_.emplace_back(at, body.number(8));
    }
  }

  Bytes more(uint64_t at, uint64_t bytes) {
    require(bytes >= 8, "a part of a header has {} bytes", bytes);
    return file_.block(at, bytes - 4, "OCHK").subspan(4);
  }

  const Hdf5Bytes& file_;
  const Found& found_;
  bool numbered_ = false;
  uint64_t first_bytes_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> more_;
};

// What is kept in a heap, by a message that names the heap and a B-tree of its objects (IV.A.2.c,
// IV.A.2.v).
template <class Found>
void read_heap(const Hdf5Bytes& file, Bytes data, size_t order_bytes, Hdf5Records kind,
               Found&& found) {
  Hdf5Cursor cursor(data);
  cursor.skip(1);
  if (cursor.number(1) & 1) cursor.skip(order_bytes);
  const uint64_t heap_at = cursor.number(8), tree_at = cursor.number(8);
  if (heap_at == kNoAddress) return;
  Hdf5Heap heap(file, heap_at);
  const bool links = kind == Hdf5Records::link_names;
  for (const Bytes& record :
       hdf5_records(file, tree_at, kind, links ? kLinkRecord : kAttributeRecord)) {
    const bool shared = !links && (record[8] & std::byte{2}) != std::byte{0};
    require(!shared, "an attribute is shared between objects");
    found(heap.object(links ? record.subspan(4) : record.first(8)));
  }
}

}  // namespace

// Names are those of the file, which outlives the view.
struct Hdf5Parsed {
  std::map<std::string_view, Hdf5Attribute> attributes;
  std::map<std::string_view, Hdf5Link> links;
  Hdf5Dataset dataset;
  bool is_dataset = false;
};

struct Hdf5View::Impl {
  explicit Impl(Bytes file) : bytes(file) {}

  uint64_t find(const std::string& path) {
    uint64_t at = root;
    for (size_t from = 0; from < path.size();) {
      const size_t to = std::min(path.find('/', from), path.size());
      const auto here = object(at);
      const auto found = here->links.find(std::string_view(path).substr(from, to - from));
      require(found != here->links.end(), "it holds no {}", path.substr(0, to));
      require(found->second.hard,
              "{} is no hard link; links to other names or files are not followed",
              path.substr(0, to));
      at = found->second.at;
      from = to + 1;
    }
    return at;
  }

  std::shared_ptr<const Hdf5Parsed> object(uint64_t at) {
    auto& known = objects[at];
    if (known) return known;
    auto made = std::make_shared<Hdf5Parsed>();
    bool elsewhere = false;
    ObjectHeader(bytes, at, [&](const Message& message) {
      require(message.type != kSymbolTable,
              "a group is of the old kind; write the file with libver=\"latest\"");
      const bool away = message.type == kExternal || message.type == kFilters;
      require(!message.shared || away || !is_read(message.type),
              "its type, shape, attributes or links are shared with other objects");
      elsewhere = elsewhere || away;
      add(message, *made);
    });
    if (elsewhere) made->dataset.at.reset();
    return known = std::move(made);
  }

  void add(const Message& message, Hdf5Parsed& made) {
    const Bytes data = message.data;
    switch (message.type) {
      case kDataspace: made.dataset.dims = hdf5_dims(data); break;
      case kDatatype: made.dataset.type = hdf5_type(data); break;
      case kLayout:
        hdf5_layout(data, made.dataset);
        made.is_dataset = true;
        break;
      case kAttribute: keep(made.attributes, hdf5_attribute(data)); break;
      case kAttributeInfo:
        read_heap(bytes, data, 2, Hdf5Records::attribute_names,
                  [&](Bytes attribute) { keep(made.attributes, hdf5_attribute(attribute)); });
        break;
      case kLink: keep(made.links, hdf5_link(data)); break;
      case kLinkInfo:
        read_heap(bytes, data, 8, Hdf5Records::link_names,
                  [&](Bytes link) { keep(made.links, hdf5_link(link)); });
        break;
      default: break;
    }
  }

  template <class Value>
  void keep(std::map<std::string_view, Value>& all, std::pair<std::string_view, Value> one) {
    require(++kept <= kMostKept, "it has more than {} links and attributes", kMostKept);
    all.insert(std::move(one));
  }

  Hdf5Bytes bytes;
  uint64_t root = 0, kept = 0;
  // Those that were looked at; each is read once.
  std::map<uint64_t, std::shared_ptr<const Hdf5Parsed>> objects;
};

// II.A. Older superblocks have no checksums, so the version comes first.
Hdf5View::Hdf5View(Bytes file) : impl_(std::make_unique<Impl>(file)) {
  const Bytes head = impl_->bytes.at(0, kSuperblockBytes);
  require_signature(head, kHdf5Signature);
  Hdf5Cursor fields(head.subspan(kHdf5Signature.size()));
  const uint64_t version = fields.number(1), addresses = fields.number(1),
                 lengths = fields.number(1);
  fields.skip(1);
  const uint64_t base = fields.number(8);
  require(version == 2 || version == 3,
          "its superblock has version {}; write the file with libver=\"latest\"", version);
  impl_->bytes.block(0, kSuperblockBytes, kHdf5Signature);
  require(addresses == 8 && lengths == 8 && base == 0,
          "it has addresses of {} bytes, lengths of {} and a base of {}", addresses, lengths, base);
  impl_->root = Hdf5Cursor(head.subspan(kSuperblockRoot)).number(8);
}

Hdf5View::~Hdf5View() = default;

Hdf5Object Hdf5View::object(const std::string& path) const {
  return {*this, impl_->object(impl_->find(path))};
}

Hdf5Object::Hdf5Object(const Hdf5View& view, std::shared_ptr<const Hdf5Parsed> parsed)
    : view_(view), parsed_(std::move(parsed)) {}

std::optional<Hdf5Attribute> Hdf5Object::attribute(const std::string& name) const {
  const auto found = parsed_->attributes.find(name);
  return found == parsed_->attributes.end() ? std::nullopt : std::optional(found->second);
}

std::string Hdf5Object::text(const Hdf5Attribute& attribute) const {
  require(attribute.count() == 1, "a text was wanted and {} are there", attribute.count());
  if (attribute.type.kind == Hdf5Type::Kind::variable_text)
    return hdf5_variable_text(view_.impl_->bytes, attribute.data);
  require(attribute.type.kind == Hdf5Type::Kind::text, "an attribute holds no text");
  const std::string_view text = hdf5_text(attribute.data);
  return std::string(text.substr(0, text.find_last_not_of('\0') + 1));
}

Hdf5Dataset Hdf5Object::dataset() const {
  require(parsed_->is_dataset, "it is no dataset");
  return parsed_->dataset;
}

bool Hdf5Object::holds(const std::string& name) const { return parsed_->links.contains(name); }

std::vector<std::string> Hdf5Object::names() const {
  std::vector<std::string> names;
  for (const auto& [name, link] : parsed_->links) names.emplace_back(name);
  return names;
}

}  // namespace skein::data
