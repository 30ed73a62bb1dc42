// From checkpoints to other programs' models.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/tensors.h"
#include "skein/convert/export_files.h"
#include "skein/convert/huggingface_config.h"
#include "skein/convert/import.h"
#include "skein/formats/gguf.h"
#include "skein/text/template.h"
#include "skein/train/tasks/label_head.h"

namespace skein::convert {

// The Modelfile of Ollama that an export of GGUF writes beside model.gguf: model.Modelfile.
std::string modelfile_path(const std::string& gguf);

// The newest good checkpoint at a path (a run's folder or a checkpoint), as the files of `form`. A
// Hugging Face folder repeats the files, names and texts of the one that the checkpoint was
// imported from.
class Export {
 public:
  Export(const std::string& source, Form form, const ConvertConfig& config);

  const ModelConfig& model() const { return model_; }
  std::string text() const;
  // Writes the folder or, for llm.c and GGUF, the file `destination`, which must not exist: whole
  // or not at all; beside a GGUF file modelfile_path(destination), which must not either. Memory:
  // the largest transposed tensor, and runs of a few MiB; of GGUF two heads of a layer.
  void run(const std::string& destination, const ConvertProgress& progress);

 private:
  // The model as other programs see it, and its tensors' names there.
  void choose_names();
  void choose_dtypes();
  int64_t bytes_of(size_t tensor) const;
  DType dtype() const;
  void write_folder(const std::string& folder);
  void write_file(const std::string& folder, const ExportFile& file);
  void write_llmc(const std::string& path);
  void write_gguf(const std::string& path);
  void write_modelfile(const std::string& gguf) const;
  // Of GGUF: what each tensor's elements are there; dtypes_ is then what they are made of.
  void choose_gguf_types();
  formats::GgufValues gguf_values(const std::string& path) const;
  // The small files beside config.json.
  std::map<std::string, std::string> texts(const ConfigExtras& said) const;
  bool trained_here() const { return !untrained_import(state_); }
  // Whether it was taught conversations here, whose template other programs are given in Jinja.
  bool has_chat() const { return !chat_.empty() && !state_.tokenizer.empty(); }
  std::string jinja() const;
  // Of a decoder whose tokenizer puts tokens around texts, which runs here learn without.
  void warn_of_beginnings() const;
  // Hands out the bytes of a tensor of theirs in order.
  using Append = std::function<void(std::span<const std::byte>)>;
  void stream(size_t tensor, const Append& write);
  void write_all(const std::string& destination);
  // Other programs know no muP: what it divides logits and scores by goes into the last norm and
  // the queries.
  void fold_mup();
  // A head that reads an encoder's first token as it is gets a layer before it that hands that
  // token on, as other programs' classifiers of sequences have one.
  void add_pooler();
  // Tensors that stand a second time, under a name of their own: those that every file has twice,
  // so that an import that had only one of the names gets both, and those that the import had
  // twice.
  void add_copies();
  // What values of a tensor of ours are times, and plus, where other programs use them.
  std::pair<double, double> change_of(const std::string& tensor) const;
  // Elements of a tensor of ours as other programs use them.
  void read(const OurTensor& tensor, int64_t begin, int64_t end, DType dtype, std::byte* out);
  void read_pooler(const OurTensor& tensor, int64_t begin, int64_t end, DType dtype,
                   std::byte* out) const;
  ConfigExtras extras() const;
  void transposed(const ForeignTensor& tensor, DType dtype, std::byte* out);
  // Elements of a tensor of ours in the file's order, run by run.
  void stream_dealt(const ForeignTensor& tensor, DType dtype, const Append& append);
  void stream_part(const ForeignTensor& tensor, const OurTensor& part, DType dtype,
                   const Append& append);

  ConvertConfig config_;
  Form form_;
  checkpoint::CheckpointInfo info_;
  train::RunState state_;
  ModelConfig model_;  // as other programs see it
  double output_factor_ = 1, query_factor_ = 1;
  ImportNotes notes_;
  std::unique_ptr<train::LabelHead> head_;  // of a fine-tuned model
  text::StoredTemplate chat_;
  std::unique_ptr<checkpoint::CheckpointTensors> tensors_;
  // The checkpoint's, and the pooler that was added.
  std::map<std::string, checkpoint::StoredTensor> stored_;
  bool pooler_added_ = false;
  NameMap names_;
  std::vector<DType> dtypes_;  // of names_.tensors
  std::vector<formats::GgufType> gguf_types_;
  ExportFiles files_;
  int64_t done_ = 0, total_ = 0;
  ConvertProgress progress_;
  checkpoint::NonFiniteCounts odd_;  // of what was written
};

}  // namespace skein::convert
