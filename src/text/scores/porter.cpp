// The paper's terms: a word is [C](VC){m}[V], C and V being runs of consonants and of vowels, and m
// its measure. Each step tries its rules in order; the first whose suffix the word has is the only
// one that may apply, and its condition is asked of what stands before the suffix.
#include "porter.h"

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace skein::text {
namespace {

bool vowel_sign(char letter) {
  return letter == 'a' || letter == 'e' || letter == 'i' || letter == 'o' || letter == 'u';
}

// A y is a consonant at the beginning and after a vowel.
bool next_is_consonant(char letter, bool first, bool after_consonant) {
  return letter == 'y' ? first || !after_consonant : !vowel_sign(letter);
}

struct Form {
  int64_t measure = 0;
  bool any_vowel = false, ends_in_consonant = false;
  bool ends_cvc = false;  // any three such letters
};

Form form_of(std::string_view stem) {
  Form form;
  unsigned kinds = 0;  // the last three, a bit for each: 1 for a consonant
  for (size_t i = 0; i < stem.size(); ++i) {
    const bool before = kinds & 1;
    const bool consonant = next_is_consonant(stem[i], i == 0, before);
    if (i > 0 && !before && consonant) ++form.measure;
    form.any_vowel = form.any_vowel || !consonant;
    kinds = (kinds << 1 | (consonant ? 1 : 0)) & 7;
  }
  form.ends_in_consonant = !stem.empty() && (kinds & 1);
  form.ends_cvc = stem.size() >= 3 && kinds == 5;
  return form;
}

int64_t measure(std::string_view stem) { return form_of(stem).measure; }

bool ends_double_consonant(std::string_view word) {
  return word.size() >= 2 && word.back() == word[word.size() - 2] &&
         form_of(word).ends_in_consonant;
}

// The paper's *o; in NLTK also a word that is a vowel and a consonant.
bool ends_short(std::string_view word) {
  const Form form = form_of(word);
  if (word.size() == 2) return form.measure == 1;
  return form.ends_cvc && word.back() != 'w' && word.back() != 'x' && word.back() != 'y';
}

std::string_view before(std::string_view word, std::string_view suffix) {
  return word.substr(0, word.size() - suffix.size());
}

void replace_suffix(std::string& word, std::string_view suffix, std::string_view by) {
  word.resize(word.size() - suffix.size());
  word.append(by);
}

struct Rule {
  std::string_view suffix, by;
};

template <class Condition>
void apply_first(std::string& word, std::initializer_list<Rule> rules, Condition&& condition) {
  for (const auto& [suffix, by] : rules) {
    if (!word.ends_with(suffix)) continue;
    if (condition(before(word, suffix), suffix)) replace_suffix(word, suffix, by);
    return;
  }
}

bool always(std::string_view, std::string_view) { return true; }
bool has_measure(std::string_view stem, std::string_view) { return measure(stem) > 0; }

void step_1a(std::string& word) {
  if (word.size() == 4 && word.ends_with("ies")) return replace_suffix(word, "ies", "ie");
  apply_first(word, {{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}}, always);
}

// After -ed or -ing was taken away.
void restore_end(std::string& word) {
  for (const std::string_view end : {"at", "bl", "iz"})
    if (word.ends_with(end)) return word.push_back('e');
  if (ends_double_consonant(word)) {
    const char last = word.back();
    if (last != 'l' && last != 's' && last != 'z') word.pop_back();
  } else if (measure(word) == 1 && ends_short(word)) {
    word.push_back('e');
  }
}

void step_1b(std::string& word) {
  if (word.ends_with("ied")) return replace_suffix(word, "ied", word.size() == 4 ? "ie" : "i");
  if (word.ends_with("eed")) return apply_first(word, {{"eed", "ee"}}, has_measure);
  for (const std::string_view suffix : {"ed", "ing"}) {
    if (!word.ends_with(suffix) || !form_of(before(word, suffix)).any_vowel) continue;
    replace_suffix(word, suffix, "");
    return restore_end(word);
  }
}

void step_1c(std::string& word) {
  apply_first(word, {{"y", "i"}}, [](std::string_view stem, std::string_view) {
    return stem.size() > 1 && form_of(stem).ends_in_consonant;
  });
}

void step_2(std::string& word) {
  while (word.ends_with("alli") && measure(before(word, "alli")) > 0)
    replace_suffix(word, "alli", "al");
  // The l of -logi belongs to what must have a measure.
  const auto condition = [&](std::string_view stem, std::string_view suffix) {
    return measure(suffix == "logi" ? before(word, "ogi") : stem) > 0;
  };
  apply_first(word, {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
                     {"izer", "ize"},    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"},
                     {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
                     {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
                     {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"},
                     {"fulli", "ful"},   {"logi", "log"}},
              condition);
}

void step_3(std::string& word) {
  apply_first(word,
              {{"icate", "ic"},
               {"ative", ""},
               {"alize", "al"},
               {"iciti", "ic"},
               {"ical", "ic"},
               {"ful", ""},
               {"ness", ""}},
              has_measure);
}

void step_4(std::string& word) {
  const auto condition = [](std::string_view stem, std::string_view suffix) {
    return measure(stem) > 1 && (suffix != "ion" || stem.back() == 's' || stem.back() == 't');
  };
  apply_first(word,
              {{"al", ""},
               {"ance", ""},
               {"ence", ""},
               {"er", ""},
               {"ic", ""},
               {"able", ""},
               {"ible", ""},
               {"ant", ""},
               {"ement", ""},
               {"ment", ""},
               {"ent", ""},
               {"ion", ""},
               {"ou", ""},
               {"ism", ""},
               {"ate", ""},
               {"iti", ""},
               {"ous", ""},
               {"ive", ""},
               {"ize", ""}},
              condition);
}

void step_5(std::string& word) {
  if (word.ends_with('e')) {
    const std::string_view stem = before(word, "e");
    const int64_t found = measure(stem);
    if (found > 1 || (found == 1 && !ends_short(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(before(word, "l")) > 1) word.pop_back();
}

// NLTK's list of words that the rules would take apart.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kIrregular{
    {{"sky", "sky"},
     {"skies", "sky"},
     {"dying", "die"},
     {"lying", "lie"},
     {"tying", "tie"},
     {"news", "news"},
     {"innings", "inning"},
     {"inning", "inning"},
     {"outings", "outing"},
     {"outing", "outing"},
     {"cannings", "canning"},
     {"canning", "canning"},
     {"howe", "howe"},
     {"proceed", "proceed"},
     {"exceed", "exceed"},
     {"succeed", "succeed"}}};

}  // namespace

std::string porter_stem(std::string word) {
  for (const auto& [irregular, stem] : kIrregular)
    if (word == irregular) return std::string(stem);
  if (word.size() <= 2) return word;
  for (void (*step)(std::string&) : {step_1a, step_1b, step_1c, step_2, step_3, step_4, step_5})
    step(word);
  return word;
}

}  // namespace skein::text
