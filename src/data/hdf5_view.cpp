#include "skein/data/hdf5_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "hdf5_bytes.h"
#include "hdf5_heap.h"
#include "hdf5_tree.h"

namespace skein {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr uint64_t kSuperblockBytes = 44, kSuperblockRoot = 36;
constexpr size_t kLinkRecord = 11, kAttributeRecord = 17, kMostDims = 32;
constexpr uint64_t kLongestName = 4096;
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

struct Link {
  bool hard = false;
  uint64_t at = 0;
};

bool is_read(uint64_t type) {
  constexpr std::array kRead = {kDataspace, kDatatype,  kLayout,  kAttribute,
                                kAttributeInfo, kLink, kLinkInfo};
  return std::find(kRead.begin(), kRead.end(), type) != kRead.end();
}

uint64_t width_of(uint64_t flags) { return uint64_t{1} << (flags & 3); }

// IV.A.1.b, version 2: hands each message to `found`.
class Header {
 public:
  using Found = std::function<void(const Message& message)>;

  Header(const Hdf5Bytes& file, uint64_t at, const Found& found) : file_(file), found_(found) {
    const uint64_t prefix = read_prefix(at);
    read_messages(file.block(at, prefix + first_bytes_, "OHDR").subspan(prefix));
    for (size_t i = 0; i < more_.size(); ++i) read_messages(more(more_[i].first, more_[i].second));
  }

 private:
  uint64_t read_prefix(uint64_t at);
  void read_messages(Bytes bytes);
  Bytes more(uint64_t at, uint64_t bytes);

  const Hdf5Bytes& file_;
  const Found& found_;
  bool numbered_ = false;
  uint64_t first_bytes_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> more_;
};

uint64_t Header::read_prefix(uint64_t at) {
  Hdf5Cursor start(file_.at(at, 6));
  require(hdf5_text(start.take(4)) == "OHDR" && start.number(1) == 2,
          "the object at byte {} has no header of version 2; write the file with libver=\"latest\"",
          at);
  const uint64_t flags = start.number(1);
  numbered_ = (flags & 4) != 0;
  const uint64_t prefix = 6 + ((flags & 0x20) ? 16 : 0) + ((flags & 0x10) ? 4 : 0);
  first_bytes_ = Hdf5Cursor(file_.at(at + prefix, width_of(flags))).number(width_of(flags));
  require(first_bytes_ <= file_.size(), "the header at byte {} has {} bytes", at, first_bytes_);
  return prefix + width_of(flags);
}

void Header::read_messages(Bytes bytes) {
  const size_t head = numbered_ ? 6 : 4;
  for (Hdf5Cursor cursor(bytes); cursor.left() >= head;) {
    const uint64_t type = cursor.number(1), size = cursor.number(2), flags = cursor.number(1);
    if (numbered_) cursor.skip(2);
    const Message message{type, (flags & 2) != 0, cursor.take(size)};
    if (type != kContinuation) {
      found_(message);
      continue;
    }
    Hdf5Cursor place(message.data);
    const uint64_t at = place.number(8);
    more_.emplace_back(at, place.number(8));
  }
}

Bytes Header::more(uint64_t at, uint64_t bytes) {
  require(bytes >= 8, "a part of a header has {} bytes", bytes);
  return file_.block(at, bytes - 4, "OCHK").subspan(4);
}

// IV.A.2.b, versions 1 and 2.
std::vector<uint64_t> read_dims(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), rank = cursor.number(1);
  cursor.skip(1);
  const uint64_t kind = cursor.number(1);
  require(version == 1 || version == 2, "a shape has version {}", version);
  require(rank <= kMostDims, "a shape has {} dims", rank);
  if (version == 1) cursor.skip(4);
  if (version == 2 && kind == 2) return {0};  // no element at all
  std::vector<uint64_t> dims;
  for (uint64_t d = 0; d < rank; ++d) dims.push_back(cursor.number(8));
  return dims;
}

constexpr std::array<uint8_t, 15> kF32 = {0x20, 31, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0};
constexpr std::array<uint8_t, 15> kF64 = {0x20, 63, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0};

bool is_real(Bytes bits, Bytes properties, uint64_t bytes) {
  if ((bytes != 4 && bytes != 8) || properties.size() < 12) return false;
  std::array<uint8_t, 15> found{};
  const auto plain = [](std::byte byte) { return std::to_integer<uint8_t>(byte); };
  std::transform(bits.begin(), bits.end(), found.begin(), plain);
  std::transform(properties.begin(), properties.begin() + 12, found.begin() + 3, plain);
  return found == (bytes == 4 ? kF32 : kF64);
}

// Little-endian and without padding.
bool is_whole_number(uint64_t bits, Hdf5Cursor properties, uint64_t bytes) {
  if ((bits & 7) != 0 || properties.left() < 4) return false;
  const uint64_t first = properties.number(2), used = properties.number(2);
  return first == 0 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && used == 8 * bytes;
}

// IV.A.2.d.
Hdf5Type read_type(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t kind = cursor.number(1) & 15;
  const Bytes bit_field = cursor.take(3);
  const uint64_t bits = Hdf5Cursor(bit_field).number(3);
  Hdf5Type type;
  type.bytes = cursor.number(4);
  if (kind == 0 && is_whole_number(bits, cursor, type.bytes)) {
    type.kind = Hdf5Type::Kind::integer;
    type.is_signed = (bits & 8) != 0;
  } else if (kind == 1 && is_real(bit_field, cursor.take(cursor.left()), type.bytes)) {
    type.kind = Hdf5Type::Kind::real;
  } else if (kind == 3) {
    type.kind = Hdf5Type::Kind::text;
  } else if (kind == 9 && (bits & 15) == 1 && type.bytes == 16) {
    type.kind = Hdf5Type::Kind::variable_text;
  }
  return type;
}

// Nothing where the product is beyond 2^64.
std::optional<uint64_t> product(const std::vector<uint64_t>& dims, uint64_t times) {
  uint64_t made = times;
  for (const uint64_t dim : dims)
    if (__builtin_mul_overflow(made, dim, &made)) return {};
  return made;
}

// IV.A.2.m, version 3. Types and shapes that stand elsewhere are refused.
std::pair<std::string_view, Hdf5Attribute> read_attribute(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), shared = cursor.number(1);
  require(version == 3 && shared == 0,
          "an attribute has version {} and flags {}; write the file with libver=\"latest\"",
          version, shared);
  const uint64_t name = cursor.number(2), type = cursor.number(2), dims = cursor.number(2);
  cursor.skip(1);  // how the name is encoded
  const std::string_view named = hdf5_text(cursor.take(name));
  Hdf5Attribute made;
  made.type = read_type(cursor.take(type));
  made.dims = read_dims(cursor.take(dims));
  const auto bytes = product(made.dims, made.type.bytes);
  const std::string_view shown = named.substr(0, named.find('\0'));
  require(bytes && *bytes <= cursor.left(),
          "attribute {} holds fewer bytes than its type and shape take", shown);
  made.data = cursor.take(*bytes);
  return {shown, made};
}

// IV.A.2.g.
std::pair<std::string_view, Link> read_link(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), flags = cursor.number(1);
  require(version == 1, "a link has version {}", version);
  const uint64_t kind = (flags & 8) ? cursor.number(1) : 0;
  if (flags & 4) cursor.skip(8);
  if (flags & 16) cursor.skip(1);
  const uint64_t length = cursor.number(width_of(flags));
  require(length <= kLongestName, "a link has a name of {} bytes; {} is the most", length,
          kLongestName);
  const std::string_view name = hdf5_text(cursor.take(length));
  if (kind != 0) return {name, {}};
  return {name, {true, cursor.number(8)}};
}

// IV.A.2.i, versions 3 and later: the address and the length of what is stored in one run.
void read_layout(Bytes data, Hdf5Dataset& dataset) {
  constexpr uint64_t kContiguous = 1;
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), kind = cursor.number(1);
  require(version >= 3 && version <= 5,
          "the layout of a dataset has version {}; write the file with libver=\"latest\"", version);
  if (kind != kContiguous) return;
  const uint64_t at = cursor.number(8);
  dataset.bytes = cursor.number(8);
  if (at != kNoAddress) dataset.at = at;
}

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
  std::map<std::string_view, Link> links;
  Hdf5Dataset dataset;
  bool is_dataset = false;
};

struct Hdf5View::Impl {
  explicit Impl(Bytes file) : bytes(file) {}

  uint64_t find(const std::string& path);
  std::shared_ptr<const Hdf5Parsed> object(uint64_t at);
  void add(const Message& message, Hdf5Parsed& made);
  template <class Value>
  void keep(std::map<std::string_view, Value>& all, std::pair<std::string_view, Value> one);

  Hdf5Bytes bytes;
  uint64_t root = 0, kept = 0;
  // Those that were looked at; each is read once.
  std::map<uint64_t, std::shared_ptr<const Hdf5Parsed>> objects;
};

template <class Value>
void Hdf5View::Impl::keep(std::map<std::string_view, Value>& all,
                          std::pair<std::string_view, Value> one) {
  require(++kept <= kMostKept, "it has more than {} links and attributes", kMostKept);
  all.insert(std::move(one));
}

void Hdf5View::Impl::add(const Message& message, Hdf5Parsed& made) {
  const Bytes data = message.data;
  switch (message.type) {
    case kDataspace: made.dataset.dims = read_dims(data); break;
    case kDatatype: made.dataset.type = read_type(data); break;
    case kLayout:
      read_layout(data, made.dataset);
      made.is_dataset = true;
      break;
    case kAttribute: keep(made.attributes, read_attribute(data)); break;
    case kAttributeInfo:
      read_heap(bytes, data, 2, Hdf5Records::attribute_names,
                [&](Bytes attribute) { keep(made.attributes, read_attribute(attribute)); });
      break;
    case kLink: keep(made.links, read_link(data)); break;
    case kLinkInfo:
      read_heap(bytes, data, 8, Hdf5Records::link_names,
                [&](Bytes link) { keep(made.links, read_link(link)); });
      break;
    default: break;
  }
}

std::shared_ptr<const Hdf5Parsed> Hdf5View::Impl::object(uint64_t at) {
  auto& known = objects[at];
  if (known) return known;
  auto made = std::make_shared<Hdf5Parsed>();
  bool elsewhere = false;
  Header(bytes, at, [&](const Message& message) {
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

uint64_t Hdf5View::Impl::find(const std::string& path) {
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

// II.A. Older superblocks have no checksums, so the version comes first.
Hdf5View::Hdf5View(Bytes file) : impl_(std::make_unique<Impl>(file)) {
  const Bytes head = impl_->bytes.at(0, kSuperblockBytes);
  require_signature(head, kSignature);
  Hdf5Cursor fields(head.subspan(kSignature.size()));
  const uint64_t version = fields.number(1), addresses = fields.number(1),
                 lengths = fields.number(1);
  fields.skip(1);
  const uint64_t base = fields.number(8);
  require(version == 2 || version == 3,
          "its superblock has version {}; write the file with libver=\"latest\"", version);
  impl_->bytes.block(0, kSuperblockBytes, kSignature);
  require(addresses == 8 && lengths == 8 && base == 0,
          "it has addresses of {} bytes, lengths of {} and a base of {}", addresses, lengths, base);
  impl_->root = Hdf5Cursor(head.subspan(kSuperblockRoot)).number(8);
}

Hdf5View::~Hdf5View() = default;

Hdf5Object Hdf5View::object(const std::string& path) const {
  return {*this, impl_->object(impl_->find(path))};
}

bool Hdf5View::holds(const std::string& name) const {
  return impl_->object(impl_->root)->links.contains(name);
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

uint64_t Hdf5Attribute::count() const { return product(dims, 1).value_or(kNoAddress); }

std::vector<int64_t> Hdf5Attribute::integers() const {
  require(type.kind == Hdf5Type::Kind::integer, "an attribute holds no little-endian integers");
  std::vector<int64_t> values;
  const auto spare = static_cast<int>(64 - 8 * type.bytes);
  for (Hdf5Cursor cursor(data); cursor.left() > 0;) {
    const uint64_t high = cursor.number(type.bytes) << spare;
    values.push_back(type.is_signed ? static_cast<int64_t>(high) >> spare
                                    : static_cast<int64_t>(high >> spare));
  }
  return values;
}

}  // namespace skein
