#include "known_options.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

namespace skein {
namespace {

struct Known {
  std::string_view section, names;  // divided by blanks
};

// Of all commands and programs; tests/cli/programs.sh compares them. model.window is of an earlier
// version.
constexpr Known kKnown[] = {
    {"attend", "graph input node output start texts"},
    {"attention",
     "block buckets drawn kind mark_every mark_first mark_token mark_until random rounds "
     "same_bucket stretch window"},
    {"augment", "aspect brightness contrast crop cutmix erase flip mixup pad rotate shift"},
    {"beam",
     "best early_stop first_token last_token length_norm length_penalty min_tokens "
     "no_repeat_ngram size"},
    {"bench",
     "attention batches lengths links new_tokens nodes output peak_size plots prompt "
     "reach samples steps stream_mib trace what wider_heads widths"},
    {"board", "port"},
    {"chat", "answer instructions kind prompt template"},
    {"checkpoint",
     "async every keep load mean_time_between_failures minutes other_data path "
     "weights_only"},
    {"convert",
     "allow_missing allow_unexpected average dry_run dtype file_bytes seed to to_context "
     "tokenizer verify"},
    {"copy", "order pairs seed words"},
    {"critic", "clip coefficient kind load lr warmup"},
    {"data",
     "bad_records blank_lines cross_document_attention curves diverging "
     "document_separator field format header hypothesis input layout loss_column "
     "loss_unit mask_document_ends max_bad_lines min_frequency prompts reference seed "
     "sentences shuffle stride targets test text tokenizer train validation "
     "validation_fraction validation_prompts vocab_size where"},
    {"dpo",
     "beta desirable_weight epochs gamma label_smoothing length long_prompts loss sft "
     "token_mean undesirable_weight"},
    {"embed", "batch length of output pool precision text"},
    {"eval", "batch output smoothing stride texts windows"},
    {"fit",
     "approach best_settings budget_runs budget_tolerance conventions curves delta "
     "drop_highest_losses every_start flops law least_tokens loss parameters resamples "
     "seed target threads"},
    {"generate",
     "answers batch chat format input keep logprobs max_tokens output precision specials "
     "start stop stop_at_end system template"},
    {"graph", "fold inputs neighbours part random target"},
    {"graphs",
     "colours communities community_nodes count directed distance_nodes distances "
     "duplicates edges feature_kind features folds format fractions header height id "
     "inside label label_kind laplacian link_fractions link_kind links make nodes "
     "outside seed self_loops split vocabulary walks width"},
    {"images",
     "background channels classes fit format header label labelled labels path resampling size"},
    {"kl", "beta control horizon target"},
    {"lm", "prefix"},
    {"loss", "label_smoothing"},
    {"lr", "cooldown cooldown_shape decay decay_end factor lr min_lr start_lr unit warmup"},
    {"machine",
     "carbon count device kind memory peak per_host price pue share share_high share_low "
     "watts"},
    {"markov", "branches context order seed symbols tokens validation_tokens zipf"},
    {"mlm", "masked pairs random rate short static unit"},
    {"model",
     "activation activation_dropout architecture attention_bias attention_dropout "
     "attention_out_bias bags bias channels class_token context d_ff d_head d_model "
     "decoder_ff decoder_heads decoder_layers decoder_width degrees depths "
     "distance_buckets distance_max drop_outputs dropout embedding_norm encoder_layers "
     "farthest graph_form graph_pool head head_activation head_bias head_std hop_weights "
     "hops image_height image_pool image_width init_std labels last_heads link_kinds "
     "link_numbers link_numbers_are link_score mask_ratio memories mup_base_head "
     "mup_base_width n_heads n_kv_heads n_layers node_ids node_numbers norm norm_epsilon "
     "norm_pixels norm_placement parallel_blocks patch_height patch_width pool pooler "
     "pooler_activation position_offset positions prefix qk_norm rope_amplitude "
     "rope_context rope_factor rope_factors rope_high_frequency rope_low_frequency "
     "rope_scaling rope_theta rope_width rope_window_theta scale_embeddings scale_output "
     "scale_scores score_width share_source sinusoids source_context source_vocab_size "
     "start stochastic_depth teleport tie_embeddings token_types value_head vector_width "
     "virtual_node vocab_size window window_side word_order"},
    {"noise",
     "delete infill kind length mask permute random rate rotate samples sentinels span "
     "start static unit"},
    {"optimizer", "beta1 beta2 clip epsilon ridge stochastic_rounding weight_decay"},
    {"oracle", "d_model dump language n_heads n_layers pretraining pretraining_lr"},
    {"other", "chunks micro_batch pipeline ranks tensor"},
    {"output", "format path replace samples separator validation vocabulary"},
    {"parallel",
     "chunks cuda_graph data device equal_bits equal_micro_batches group_order layers "
     "pipeline recompute reduction_groups schedule sequence tensor timeout zero"},
    {"plan",
     "aspect batch_rule budget config d_head fit gpu_hours law lr_rule tokens "
     "train_tokens"},
    {"ppo",
     "aggregation algorithm answers clip_high clip_low divide_by_std dual_clip ema "
     "entropy epochs gamma iterations kl_in_reward kl_loss kl_loss_estimator lambda "
     "rollout_batch save_rollouts shown stop_kl whiten"},
    {"predict", "batch precision"},
    {"ptx", "batch coefficient data length"},
    {"range", "begin count"},
    {"report", "coordinates figures"},
    {"retrieval", "ask beyond distance keys noise pairs seed texts values"},
    {"reward",
     "centring epochs kl_estimator length long_prompts margin missing_end "
     "missing_end_value process_seconds reference_samples score_clip sources"},
    {"run",
     "check_replicas dir dry_run id log_every peak_flops profile quiet restart takeover "
     "tensorboard threads"},
    {"sample", "ban_special banned seed temperature top_k top_p"},
    {"score",
     "baseline beta bootstrap char_order effective_order eps_smoothing lowercase metrics "
     "seed smooth_value smoothing squad stemmer tokenizer whitespace word_order"},
    {"sft", "epochs length longer pack"},
    {"spikes", "action deviations leave_out window"},
    {"store", "sheet verify"},
    {"stories", "empty form part seed validation_fraction vocabulary"},
    {"sweep",
     "aspect base_width batch batch_rule budgets centre_ratio centres cooldown d_head "
     "dry_run fail_fast flops flops_per_second keep_weights kind least_heads list lr "
     "lr_factor lr_rule most_layers ranks_per_run repeat_budgets repeat_seeds "
     "repeat_shapes seeds shapes sizes sizes_per_budget spread tokens "
     "tokens_per_parameter verbose warmup"},
    {"task",
     "epochs format header kind label labels length metric pack pair prefix references "
     "separator source_length start tag_column target_length text too_long word_column"},
    {"tokenizer",
     "byte_fallback kind limit_alphabet lowercase normal_form path pattern special target"},
    {"train",
     "frozen_layers global_batch loss_scale loss_scale_window max_skipped micro_batch "
     "precision seed steps"},
    {"validation", "decode every patience points stride windows"},
    {"verify", "at"}};

std::vector<std::string> names_in(const Known& section) {
  std::istringstream words{std::string(section.names)};
  return {std::istream_iterator<std::string>(words), {}};
}

bool holds(const Known& section, const std::string& name) {
  const std::vector<std::string> names = names_in(section);
  return std::ranges::find(names, name) != names.end();
}

const Known* section_named(const std::string& name) {
  const auto* found = std::ranges::find(kKnown, name, &Known::section);
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace

bool is_known_section(const std::string& name) { return section_named(name) != nullptr; }

bool is_known_option(const std::string& key) {
  const size_t dot = key.find('.');
  const Known* const section = section_named(key.substr(0, dot));
  return section && dot != std::string::npos && holds(*section, key.substr(dot + 1));
}

std::vector<std::string> known_options() {
  std::vector<std::string> keys;
  for (const Known& one : kKnown)
    for (const std::string& name : names_in(one))
      keys.push_back(std::string(one.section) + "." + name);
  return keys;
}

}  // namespace skein
