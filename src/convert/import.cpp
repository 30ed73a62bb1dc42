#include "skein/convert/import.h"

#include <algorithm>
#include <filesystem>

#include "skein/checkpoint/directory.h"
#include "skein/checkpoint/manifest.h"
#include "skein/checkpoint/tensors.h"
#include "skein/convert/decoding_advice.h"
#include "skein/convert/generation_config.h"
#include "skein/convert/huggingface_config.h"
#include "skein/convert/refit.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/text/tokenizer.h"

#include "elements.h"
#include "foreign_config.h"
#include "shard_plan.h"

namespace skein::convert {
namespace {

namespace fs = std::filesystem;

constexpr char kKind[] = "param/";

// What config.json may ask; `files` outlives it.
HeldTensors held_in(const WeightFiles& files) {
  HeldTensors held;
  for (const StoredWeight& weight : files.weights) held.names.insert(weight.name);
  held.same = [&files](const std::string& left, const std::string& right) {
    const auto number = [&](const std::string& name) {
      return std::ranges::find(files.weights, name, &StoredWeight::name) - files.weights.begin();
    };
    return equal_weights(files, number(left), number(right));
  };
  return held;
}

// The names of ours that a map gives are all that the model has, each of the model's shape.
void check_against_model(const NameMap& names, const ModelConfig& model) {
  TensorShapes ours;
  for (const ForeignTensor& tensor : names.tensors)
    for (const OurTensor& part : tensor.parts) ours[part.name] = part.shape;
  SKEIN_CHECK(ours == tensor_shapes(model, whole_piece(model)));
}

// The part of a tensor as training would begin with it; `described` is the whole model, without
// memory.
void write_start(Parameters& described, const std::string& name, const checkpoint::Piece& part,
                 uint64_t seed, std::byte* out) {
  Parameter* parameter = described.find(name);
  SKEIN_CHECK(parameter != nullptr);
  parameter->value = Tensor::zeros(parameter->local, DType::f32);
  initialize(*parameter, seed);
  convert_elements(DType::f32, parameter->value.bytes_data() + part.begin * size_of(DType::f32),
                   part.dtype, out, part.end - part.begin);
  parameter->value = {};
}

void check_ids(const text::Tokenizer& tokenizer, const ModelConfig& model,
               const std::string& path) {
  require(tokenizer.vocab_size() <= model.vocab_size,
          "--tokenizer={} has {} ids, but the model knows {}; give the tokenizer that it was "
          "trained with",
          path, tokenizer.vocab_size(), model.vocab_size);
}

void warn_of_ids(const text::StoredTokenizer& tokenizer, const ModelConfig& model,
                 const std::string& folder) {
  const int64_t ids = tokenizer.empty() ? 0 : tokenizer->vocab_size();
  if (ids > model.vocab_size)
    log::warn(
        "the tokenizer of {} has {} ids, but the model knows {}: texts that hold one of the others "
        "are refused",
        folder, ids, model.vocab_size);
}

bool is_checkpoint_folder(const std::string& path) {
  const std::string folder = checkpoint::checkpoint_folder(path);
  return is_there(join_path(path, checkpoint::kManifestName)) ||
         (is_folder(folder) && !checkpoint::committed_checkpoints(folder).empty());
}

bool is_huggingface_folder(const std::string& path) {
  std::error_code ignored;
  for (const char* name :
       {"config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"})
    if (fs::exists(join_path(path, name), ignored)) return true;
  return false;
}

void tell_decoding(const ImportNotes& notes, const ModelConfig& model) {
  if (!model.architecture->continues_text(model) && !model.architecture->maps_source(model)) return;
  const auto own = notes.texts.find(kGenerationConfig);
  const bool has_own = own != notes.texts.end();
  if (!has_own && notes.config.empty()) return;
  const std::string origin = join_path(notes.source, has_own ? kGenerationConfig : "config.json");
  const DecodingAdvice advice =
      decoding_advice(has_own ? own->second : notes.config, origin, model);
  if (!advice.options.empty())
    log::info("{} asks for: skein generate {}", origin, fmt::join(advice.options, " "));
  if (!advice.others.empty())
    log::warn("{} also asks for {}, which skein generate does not do", origin,
              fmt::join(advice.others, ", "));
}

}  // namespace

void check_destination(const std::string& path) {
  require(!is_checkpoint_folder(path) && !is_huggingface_folder(path),
          "{} holds a model already; name another folder", path);
}

void warn_of(const checkpoint::NonFiniteCounts& odd, const std::string& made,
             const ConvertConfig& config) {
  if (const std::string text = odd.text(); !text.empty())
    log::warn("{}: {}{}; what is computed with them is not finite either", made, text,
              config.dtype == DType::f16
                  ? " (with --dtype=f16, which holds nothing beyond 65504: try f32 or bf16)"
                  : "");
}

Form form_of(const std::string& path) {
  std::error_code error;
  require(fs::exists(path, error), "there is no {}", path);
  if (is_llmc_file(path)) return Form::llmc;
  require(fs::is_directory(path, error),
          "{} is neither a folder nor a model file of llm.c; a Hugging Face model is a folder with "
          "its config.json",
          path);
  if (is_checkpoint_folder(path)) return Form::skein;
  require(is_huggingface_folder(path),
          "{} holds neither a config.json with safetensors nor a checkpoint", path);
  return Form::huggingface;
}

namespace {

// Of longrope: one model has the factors of one length of texts.
void warn_of_length(const std::string& config, const ModelConfig& model) {
  const int64_t said = ForeignConfig(config, "config.json").integer("max_position_embeddings", 0);
  if (model.rope_scaling == RopeScaling::longrope && said > model.context)
    log::warn(
        "\"max_position_embeddings\" is {}, but texts of more than {} tokens have other rotary "
        "positions, those of \"long_factor\", which are not taken over: model.context is {}",
        said, model.context, model.context);
}

}  // namespace

Import::Import(const std::string& source, Form form, const ConvertConfig& config)
    : config_(config) {
  if (form == Form::huggingface) {
    files_ = open_safetensors(source);
    notes_ = read_notes(source);
    model_ =
        model_from_huggingface(notes_.config, join_path(source, "config.json"), held_in(files_));
    warn_of_length(notes_.config, model_);
    const auto held = std::ssize(files_.weights);
    require(config.allow_missing || model_.n_layers <= held,
            "{} says {} layers, and the files hold {} tensors", join_path(source, "config.json"),
            model_.n_layers, held);
    match_ = match(huggingface_names(model_, model_type(notes_.config)), files_);
    for (const StoredWeight& weight : files_.weights)
      notes_.weights[weight.file].push_back(weight.name);
  } else {
    const LlmcModel header = read_llmc_header(source);
    files_ = open_llmc(source);
    notes_.source = source;
    model_ = header.config;
    match_ = match(llmc_names(model_, header.padded_vocab), files_);
  }
  check(match_, files_, config.allow_missing, config.allow_unexpected);
  check_against_model(match_.names, model_);
  refit_ = std::make_unique<Refit>(model_, config);
  for (const std::string& name : match_.missing)
    log::warn("{} is missing and gets start values", name);
  for (const std::string& name : match_.unexpected) log::warn("{} is left out", name);
  require(config.tokenizer.empty() || model_.architecture->reads() != Reads::pictures,
          "--tokenizer={} is for models of texts, and that of {} reads pictures; leave it out",
          config.tokenizer, source);
  if (!config.tokenizer.empty()) {
    tokenizer_.tokenizer = text::StoredTokenizer(text::load_tokenizer(config.tokenizer));
    check_ids(*tokenizer_.tokenizer, model_, config.tokenizer);
    drop_tokenizer(notes_);
  } else if (form == Form::huggingface && model_.architecture->reads() != Reads::pictures) {
    tokenizer_ = folder_tokenizer(source);
    notes_.tokenizer_fault = tokenizer_.fault;
    warn_of_ids(tokenizer_.tokenizer, model_, source);
  }
}

bool Import::narrow() const {
  return std::any_of(match_.found.begin(), match_.found.end(), [&](const auto& found) {
    return found && size_of(*files_.weights[*found].dtype) < 4;
  });
}

// What is missing takes the type of the first that is not.
DType Import::dtype_of(size_t tensor) const {
  if (config_.dtype) return *config_.dtype;
  if (const auto found = match_.found[tensor]) return *files_.weights[*found].dtype;
  for (const auto& other : match_.found)
    if (other) return *files_.weights[*other].dtype;
  return DType::f32;
}

Import::~Import() = default;

const ModelConfig& Import::model() const { return refit_->model(); }

std::string Import::text() const {
  const std::string& told = refit_->told();
  return match_.text(files_) + (told.empty() ? "" : told + "\n");
}

// In the order of the files, of which transposed tensors are read whole.
std::vector<std::vector<checkpoint::Piece>> Import::plan() const {
  ShardPlan plan;
  TensorShapes left = refit_->tensors();
  for (size_t i = 0; i < match_.names.tensors.size(); ++i)
    for (const OurTensor& part : match_.names.tensors[i].parts)
      if (const auto found = left.find(part.name); found != left.end()) {
        plan.add(part.name, found->second, dtype_of(i));
        left.erase(found);
      }
  const auto slots = match_.slots();
  for (const auto& [name, shape] : left)
    plan.add(name, shape, dtype_of(slots.at(refit_->origin_of(name)).tensor));
  return plan.take();
}

std::string Import::run(const std::string& destination, const ConvertProgress& progress) const {
  check_destination(destination);
  ImportNotes notes = notes_;
  const std::string folder =
      fs::is_directory(files_.path) ? files_.path : fs::path(files_.path).parent_path().string();
  for (const std::string& file : files_.files) notes.sums[file] = file_sum(join_path(folder, file));
  const auto shards = plan();
  int64_t total = 0, done = 0;
  for (const auto& pieces : shards)
    for (const checkpoint::Piece& piece : pieces) total += piece.bytes();
  ElementReader reader(match_, files_);
  const auto slots = match_.slots();
  Parameters described(DType::f32, 0, 1);
  describe(model(), whole_piece(model()), described);
  const TensorShapes held = tensor_shapes(model_, whole_piece(model_));
  const auto read = [&](const std::string& name, int64_t begin, int64_t end, DType dtype,
                        std::byte* to) { reader.read(name, held.at(name), begin, end, dtype, to); };
  checkpoint::NonFiniteCounts odd;
  const auto fill = [&](const checkpoint::Piece& piece, std::byte* out) {
    const std::string name = piece.name.substr(sizeof(kKind) - 1), from = refit_->origin_of(name);
    if (!from.empty() && match_.found[slots.at(from).tensor])
      refit_->write(name, piece, read, out);
    else
      write_start(described, name, piece, config_.seed, out);
    odd.look_at(name, piece.dtype, out, piece.end - piece.begin);
    done += piece.bytes();
    if (progress) progress(done, total);
  };
  const std::string metadata = import_metadata(model(), tokenizer_, notes);
  const std::string made = save_in_shards(destination, 0, shards, metadata, fill);
  warn_of(odd, made, config_);
  if (!refit_->told().empty()) log::info("{}", refit_->told());
  tell_decoding(notes, model());
  if (!imported_template(train::run_state(metadata, made)).empty())
    log::info(
        "its chat template, in Jinja, is kept for the way back and not read here: give skein "
        "generate and chat its like with generate.template, skein sft with chat.template");
  return made;
}

}  // namespace skein::convert
