// A page of the manual: roff, as man(7) describes it. Texts are taken as they are; what stands in
// backquotes becomes bold.
#pragma once

#include <string>

namespace skein {

class ManualPage {
 public:
  // Of "skein pretrain" the page is skein-pretrain(1); beside its name stands the summary's first
  // clause.
  ManualPage(const std::string& program, const std::string& summary);

  void heading(const std::string& title);
  void subheading(const std::string& title);
  void paragraph(const std::string& text);
  void item(const std::string& term, const std::string& text);

  // With what all programs have in common: how they end, and the other pages.
  std::string finished() &&;

 private:
  std::string own_, text_;
  bool under_heading_ = false;  // which begins a paragraph
};

}  // namespace skein
