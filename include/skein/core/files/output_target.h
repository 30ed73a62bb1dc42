// The target that a user names for a result. A file that is made under another name first and gets
// its own once it is whole must never replace a device, a pipe or a directory. Symbolic links are
// followed: the link stays, and what it leads to is replaced.
#pragma once

#include <string>
#include <string_view>

namespace skein {

// What stands there. stream: a pipe, a terminal or another device of characters, or a descriptor
// that this process holds (/dev/stdout); bytes go into it in order, and it is not
// replaced.
enum class Occupant { nothing, file, folder, stream, other };

// Whether a file that is there already may be replaced.
enum class ExistingFile { refuse, replace };
constexpr ExistingFile existing(bool replace) {
  return replace ? ExistingFile::replace : ExistingFile::refuse;
}

struct OutputTarget {
  std::string path;  // where links lead
  Occupant occupant = Occupant::nothing;
  std::string kind;     // "a named pipe", for messages
  int descriptor = -1;  // what /dev/stdout, /dev/fd/N and the like stand for
};

// A usage error for links that lead in a circle.
OutputTarget output_target(const std::string& path);

// The path to write a file to. A usage error, which names `option` if that is not "", unless
// nothing or a regular file stands there, or with ExistingFile::refuse unless nothing does.
std::string file_target(const std::string& path, ExistingFile existing,
                        const std::string& option = "");

// Opens a stream for writing; -1 with errno where that fails. A pipe waits for its reader.
int open_stream(const OutputTarget& target);
// All of `bytes`, by as many writes as that takes. False with errno; some may be written then.
bool write_whole(int descriptor, std::string_view bytes);
// The same into a stream. Error(failure) with the cause.
void write_stream(const OutputTarget& target, std::string_view bytes);

// Makes the file `path`, a name that is only for the time until a result is whole, and opens it for
// writing; -1 with errno where that fails. What a killed process left there goes. A link of that
// name is never followed.
int make_temporary_file(const std::string& path);

// Gives a file or folder a name that nothing bears, whole and at once; with two at a time one gets
// it. False with errno: EEXIST, or ENOTEMPTY, where something bears it; EPERM, EOPNOTSUPP, ENOSYS
// or EINVAL where a file system can do no such thing.
bool give_free_name(const std::string& from, const std::string& to);

// Gives a finished file or folder its name, a path of file_target. What came to stand there
// meanwhile is replaced only if it is a regular file and ExistingFile::replace says so, else it is
// an Error(failure), as is what the system refuses.
void publish(const std::string& temporary, const std::string& path, ExistingFile existing);

}  // namespace skein
