// A language of two symbols whose policies are tuned in a second.
#pragma once

#include <string>

namespace skein::rlhf {

inline const std::string kLengthLanguage = R"(alphabet A B
end </s>
separator <sep>
pad <pad>
initial A 0.5 B 0.5
from A A 0.2 B 0.5 </s> 0.3
from B A 0.4 B 0.2 </s> 0.4
prompts chain 1 2
response 3
unended replace -1
reward length
)";

}  // namespace skein::rlhf
