// Words of options and JSON for what a study can be told.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "skein/scaling/study/study.h"

namespace skein::scaling::study {

template <class Value>
using Names = std::vector<std::pair<std::string, Value>>;

inline const Names<Law> kLaws{{"all", Law::all},
                              {"loss_of_n", Law::loss_of_n},
                              {"loss_of_d", Law::loss_of_d},
                              {"loss_of_c", Law::loss_of_c},
                              {"kaplan", Law::kaplan},
                              {"over_training", Law::over_training},
                              {"data_limited", Law::data_limited}};
inline const Names<fit::LossKind> kLossKinds{{"huber", fit::LossKind::huber},
                                             {"absolute", fit::LossKind::absolute},
                                             {"squared", fit::LossKind::squared}};
inline const Names<ParameterCount> kParameterCounts{{"given", ParameterCount::given},
                                                    {"blocks", ParameterCount::blocks},
                                                    {"blocks_head", ParameterCount::blocks_head},
                                                    {"all", ParameterCount::all}};
inline const Names<FlopCount> kFlopCounts{{"given", FlopCount::given},
                                          {"six_n", FlopCount::six_n},
                                          {"six_n_head", FlopCount::six_n_head},
                                          {"exact", FlopCount::exact}};

template <class Value>
const std::string& name_of(const Names<Value>& names, Value value) {
  return std::ranges::find(names, value, &std::pair<std::string, Value>::second)->first;
}
inline const std::string& name_of(Law law) { return name_of(kLaws, law); }
inline const std::string& name_of(fit::LossKind kind) { return name_of(kLossKinds, kind); }
inline const std::string& name_of(ParameterCount count) { return name_of(kParameterCounts, count); }
inline const std::string& name_of(FlopCount count) { return name_of(kFlopCounts, count); }

}  // namespace skein::scaling::study
