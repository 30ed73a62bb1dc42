// A chat template in the languages that other programs have for such: what they make of messages
// has the tokens that ChatTemplate makes of them, where they read the texts of special tokens as
// these tokens. The tokens are spelt out, so no variable of the other program's counts.
#pragma once

#include <string>

#include "skein/text/template.h"
#include "skein/text/tokenizer.h"

namespace skein::text {

// Jinja, as transformers and llama.cpp run it (chat_template.jinja). A role without a place raises
// an exception. Of messages that end with an answer add_generation_prompt begins another one.
std::string jinja_template(const StoredTemplate& stored, const Tokenizer& tokenizer);

// Go's text/template, as Ollama runs it (TEMPLATE of a Modelfile); it always asks for an answer. It
// has no words for two things: white space around a turn's text stays, though the form may trim
// it, and turns of a role without a place are left out.
std::string go_template(const StoredTemplate& stored, const Tokenizer& tokenizer);

}  // namespace skein::text
