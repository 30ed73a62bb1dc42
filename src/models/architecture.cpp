#include "skein/models/architecture.h"

namespace skein {

std::string_view name_of(Reads reads) {
  switch (reads) {
    case Reads::texts: return "texts";
    case Reads::pictures: return "pictures";
    case Reads::graphs: return "graphs";
    case Reads::stories: break;
  }
  return "stories";
}

}  // namespace skein
