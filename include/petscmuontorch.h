/*
   The optimizer for C++ programs with libtorch: petscmuon::Muon is a torch::optim::Optimizer on the ranks of MPI.

     petscmuon::Muon optimizer(net->named_parameters(), MPI_COMM_WORLD, "-muon_type ef21 -ef21_compressor topk");
     optimizer.zero_grad();
     loss.backward();
     optimizer.step();

   Gradients are those of the rank; the optimizer forms the mean. Matrices are updated by Muon, vectors by AdamW.
   The constructor, step(), save(), load() and the end of an optimizer are collective. Errors are exceptions.

   This header needs C++17 and the headers of torch; the library itself knows nothing of torch.
*/
#pragma once

#include <petscmuon.h>
#include <torch/torch.h>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace petscmuon {

/*
   What a group of parameters has. Schedulers change lr, and adamw_lr in proportion. rule is lmo, adamw, nadamw, sgd or frozen; an
   empty one is lmo for two dimensions and more, else adamw with the rate adamw_lr
*/
struct MuonOptions : public torch::optim::OptimizerCloneableOptions<MuonOptions> {
  MuonOptions(double lr = 0.02) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(double, momentum)     = 0.95;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, adamw_lr)     = 1e-3;
  TORCH_ARG(std::string, rule);

public:
  double get_lr() const override
  {
    return lr();
  }
  void set_lr(const double rate) override
  {
    lr(rate);
  }
  void serialize(torch::serialize::OutputArchive &archive) const override
  {
    archive.write("numbers", torch::tensor({lr(), momentum(), weight_decay(), adamw_lr()}, torch::kDouble));
  }
  void serialize(torch::serialize::InputArchive &archive) override
  {
    torch::Tensor numbers;

    archive.read("numbers", numbers);
    const double *value = numbers.data_ptr<double>();

    lr(value[0]).momentum(value[1]).weight_decay(value[2]).adamw_lr(value[3]);
  }
};

class Muon : public torch::optim::Optimizer {
public:
  /* options are keys as on a command line, of this optimizer alone; they win over those of the command line, which it reads too */
  Muon(const torch::OrderedDict<std::string, torch::Tensor> &named, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions())
      : Muon({torch::optim::OptimizerParamGroup(named.values())}, comm, options, defaults, named.keys())
  {
  }
  Muon(const std::vector<torch::Tensor> &parameters, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions()) : Muon({torch::optim::OptimizerParamGroup(parameters)}, comm, options, defaults) {}
  /* names are those of all parameters in the order of the groups; without, parameter 2 of group 0 is g0.2 */
  Muon(const std::vector<torch::optim::OptimizerParamGroup> &groups, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions(), const std::vector<std::string> &names = {})
      : Optimizer(groups, std::make_unique<MuonOptions>(defaults))
  {
    try {
      Create(comm, options);
      for (size_t g = 0, i = 0; g < param_groups().size(); g++) {
        first_rate_.push_back(GroupOptions(g).lr());
        for (size_t k = 0; k < param_groups()[g].params().size(); k++, i++) {
          AddLayer(g, names.empty() ? "g" + std::to_string(g) + "." + std::to_string(k) : names.at(i), param_groups()[g].params()[k]);
        }
      }
      SetRates();
    } catch (...) {
      Destroy();
      throw;
    }
  }
  ~Muon() override
  {
    Destroy();
  }

  /* For whatever else the library can do */
  ::Muon muon() const
  {
    return muon_;
  }

  /* Takes a step with the gradients that backward() left; a closure computes them anew. An exception on one rank ends the step on all, with everything as it was */
  torch::Tensor step(LossClosure closure = nullptr) override
  {
    torch::NoGradGuard  guard;
    PetscInt64          before, after;
    MuonConvergedReason reason;
    int                 mine, anywhere;
    size_t              count = 0;

    for (const auto &group : param_groups()) count += group.params().size();
    TORCH_CHECK(count == layers_.size(), "petscmuon::Muon: ", count, " parameters in the groups, expected the ", layers_.size(), " of its constructor");
    SetRates();
    SetUp();
    closure_ = closure;
    loss_    = torch::Tensor();
    failed_  = nullptr;
    Call(MuonGetNaNCount, muon_, &before);
    try {
      Call(MuonStep, muon_);
    } catch (...) {
      if (failed_) std::rethrow_exception(failed_);
      throw;
    }
    Call(MuonGetNaNCount, muon_, &after);
    Call(MuonGetConvergedReason, muon_, &reason);
    if (reason < 0 || after != before) {
      /* All ranks know of a step that was not taken; which one failed they tell each other */
      mine = failed_ ? 1 : 0;
      MPI_Allreduce(&mine, &anywhere, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)muon_));
      if (failed_) std::rethrow_exception(failed_);
      TORCH_CHECK(!anywhere, "petscmuon::Muon: the step was not taken: another rank failed");
    }
    Finish();
    return loss_;
  }

  /* Groups, and this rank's part of a checkpoint. Each rank has an archive of its own. The system's folder for temporary files, TMPDIR, is one that all ranks see */
  void save(torch::serialize::OutputArchive &archive) const override
  {
    Muon                           *self   = const_cast<Muon *>(this);
    const std::filesystem::path     folder = self->SharedFolder();
    torch::serialize::OutputArchive files;
    int64_t                         count = 0;
    char                            mine[32];

    for (size_t g = 0; g < param_groups().size(); g++) {
      torch::serialize::OutputArchive group;

      param_groups()[g].options().serialize(group);
      archive.write("group" + std::to_string(g), group);
    }
    self->SetRates();
    self->SetUp();
    Call(MuonSaveCheckpoint, muon_, folder.c_str(), (PetscInt)1);
    std::snprintf(mine, sizeof(mine), "rank-%06d", rank_);
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().filename() != mine && (rank_ != 0 || entry.path().filename() != "manifest")) continue;
      std::ifstream     file(entry.path(), std::ios::binary);
      std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());

      files.write("name" + std::to_string(count), c10::IValue(entry.path().lexically_relative(folder).string()));
      files.write("data" + std::to_string(count++), torch::from_blob(bytes.data(), {(int64_t)bytes.size()}, torch::kUInt8).clone());
    }
    files.write("count", c10::IValue(count));
    archive.write("petscmuon", files);
    Remove(folder);
  }

  /* Goes on from what save() wrote on the same rank: weights, state and step are those of then, bit for bit */
  void load(torch::serialize::InputArchive &archive) override
  {
    const std::filesystem::path    folder = SharedFolder();
    torch::serialize::InputArchive files;
    c10::IValue                    count, name;
    torch::Tensor                  data;

    for (size_t g = 0; g < param_groups().size(); g++) {
      torch::serialize::InputArchive group;

      archive.read("group" + std::to_string(g), group);
      param_groups()[g].options().serialize(group);
    }
    archive.read("petscmuon", files);
    files.read("count", count);
    for (int64_t i = 0; i < count.toInt(); i++) {
      files.read("name" + std::to_string(i), name);
      files.read("data" + std::to_string(i), data);
      const std::filesystem::path path = folder / name.toStringRef();

      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary).write((const char *)data.data_ptr(), data.numel());
    }
    SetRates();
    SetUp();
    MPI_Barrier(PetscObjectComm((PetscObject)muon_));
    Call(MuonLoadCheckpoint, muon_, folder.c_str());
    Remove(folder);
    Finish();
  }

private:
  struct Layer {
    std::string   name, key, rule;
    size_t        group;
    torch::Tensor p, trained, grad; /* trained is p, or its copy in float32 */
    void         *address;
    MuonLayer     handle;
  };

  ::Muon                        muon_    = nullptr;
  PetscOptions                  options_ = nullptr;
  PetscMPIInt                   rank_    = 0;
  bool                          ready_   = false;
  std::vector<Layer>            layers_;
  std::vector<double>           first_rate_;
  std::map<std::string, double> told_;
  LossClosure                   closure_;
  torch::Tensor                 loss_;
  std::exception_ptr            failed_;

  /* The first message of an error is what went wrong, later ones are the way to it */
  static PetscErrorCode Hear(MPI_Comm, int, const char *, const char *, PetscErrorCode code, PetscErrorType, const char *message, void *ctx)
  {
    std::string *text = static_cast<std::string *>(ctx);

    if (text->empty() && message != nullptr) *text = message;
    return code;
  }
  template <typename F, typename... A> static void Call(F function, A... arguments)
  {
    std::string    text;
    PetscErrorCode code;

    PetscPushErrorHandler(Hear, &text);
    code = function(arguments...);
    PetscPopErrorHandler();
    TORCH_CHECK(code == PETSC_SUCCESS, "petscmuon::Muon: ", text.empty() ? "error code " + std::to_string((int)code) : text);
  }

  /* Memory of the parameters of all optimizers */
  static std::map<void *, std::string> &Taken()
  {
    static std::map<void *, std::string> taken;

    return taken;
  }

  const MuonOptions &GroupOptions(size_t g) const
  {
    return static_cast<const MuonOptions &>(param_groups()[g].options());
  }

  void Create(MPI_Comm comm, const std::string &options)
  {
    PetscBool started;
    char     *all;

    PetscInitialized(&started);
    TORCH_CHECK(started, "petscmuon::Muon: PETSc has not been started, expected PetscMuonInitialize() or PetscInitialize() before");
    Call(PetscMuonInitialize, nullptr, nullptr, nullptr, nullptr);
    /* A database of its own: what the program's has, and these options */
    Call(PetscOptionsCreate, &options_);
    Call(PetscOptionsGetAll, nullptr, &all);
    Call(PetscOptionsInsertString, options_, (const char *)all);
    PetscFree(all);
    Call(PetscOptionsInsertString, options_, options.c_str());
    Call(MuonCreate, comm, &muon_);
    Call(PetscObjectSetOptions, (PetscObject)muon_, options_);
    Call(MuonSetObjectiveAndGradient, muon_, Compute, this);
    MPI_Comm_rank(comm, &rank_);
  }

  void Destroy()
  {
    for (const Layer &layer : layers_) Taken().erase(layer.address);
    layers_.clear();
    if (muon_ != nullptr) MuonDestroy(&muon_);
    PetscOptionsDestroy(&options_);
  }

  void AddLayer(size_t g, const std::string &name, const torch::Tensor &p)
  {
    MuonLayerArray array;
    Layer          layer;

    TORCH_CHECK(!name.empty(), "petscmuon::Muon: a parameter of shape ", p.sizes(), " without a name, expected those of named_parameters()");
    /* PETSc drops digits between underscores, and names begin with a letter */
    layer.key   = (std::isalpha((unsigned char)name[0]) ? "" : "p") + std::regex_replace(name, std::regex("_(?=[0-9])"), ".");
    layer.name  = name;
    layer.group = g;
    layer.rule  = !GroupOptions(g).rule().empty() ? GroupOptions(g).rule() : p.dim() >= 2 ? "lmo" : "adamw";
    TORCH_CHECK(p.layout() == torch::kStrided && p.is_floating_point(), "parameter \"", name, "\" is ", p.layout(), " of ", p.dtype(), ", expected a dense one of float32, float64, bfloat16 or float16");
    TORCH_CHECK(p.is_cpu() || p.is_cuda(), "parameter \"", name, "\" is on ", p.device(), ", expected cpu, or cuda where PetscMuon was built with a Kokkos for it (make lib KOKKOS_DIR=...)");
    TORCH_CHECK(p.requires_grad() || layer.rule == "frozen", "parameter \"", name, "\": requires_grad is false, so that nothing computes a gradient: give its group the rule frozen");
    layer.p       = p;
    layer.trained = p.scalar_type() == torch::kFloat || p.scalar_type() == torch::kDouble ? p : p.detach().to(torch::kFloat).contiguous();
    layer.address = p.data_ptr();
    TORCH_CHECK(p.numel() == 0 || Taken().count(layer.address) == 0, "parameter \"", name, "\": its memory is that of parameter \"", Taken()[layer.address], "\" of this or another optimizer");
    Call(MuonLayerArrayInitialize, &array);
    array.type    = layer.trained.scalar_type() == torch::kFloat ? PETSC_FLOAT : PETSC_DOUBLE;
    array.memtype = p.is_cuda() ? PETSC_MEMTYPE_DEVICE : PETSC_MEMTYPE_HOST;
    array.w       = layer.trained.data_ptr();
    SetShape(layer, &array);
    Call(MuonAddLayerArray, muon_, layer.key.c_str(), (const MuonLayerArray *)&array, &layer.handle);
    Call(MuonLayerSetRule, layer.handle, layer.rule.c_str());
    layers_.push_back(layer);
    if (p.numel() > 0) Taken()[layer.address] = name;
  }

  /* A matrix of the first dimension against the others, whose entries lie side by side */
  static void SetShape(const Layer &layer, MuonLayerArray *array)
  {
    const torch::Tensor &p = layer.trained;
    const int64_t        m = p.dim() > 0 ? p.size(0) : 1, n = m > 0 ? p.numel() / m : 0;
    const int64_t        across = p.dim() > 0 && m > 1 ? p.stride(0) : n;
    const bool           rows   = p.numel() < 2 || (p.dim() > 0 && p.select(0, 0).is_contiguous() && across >= n);

    TORCH_CHECK(rows || (p.dim() == 2 && p.stride(0) == 1 && p.stride(1) >= m), "parameter \"", layer.name, "\" of shape ", p.sizes(), " has strides ", p.strides(),
                ", expected rows or columns whose entries lie side by side: make it of .contiguous()");
    array->M        = (PetscInt)m;
    array->N        = (PetscInt)n;
    array->rowmajor = rows ? PETSC_TRUE : PETSC_FALSE;
    array->ld       = (PetscInt)(rows ? std::max(across, n) : p.stride(1));
  }

  /* Rates, momenta and decays of the groups go to the layers, where they changed */
  void SetRates()
  {
    for (const Layer &layer : layers_) {
      const MuonOptions &group = GroupOptions(layer.group);
      const double       first = first_rate_[layer.group];
      const double       other = group.adamw_lr() * (first > 0 ? group.lr() / first : group.lr() > 0);

      if (layer.rule == "frozen") continue;
      SetRate(layer, "learning_rate", group.rule().empty() && layer.rule == "adamw" ? other : group.lr());
      SetRate(layer, "weight_decay", group.weight_decay());
      if (layer.rule == "lmo") SetRate(layer, "momentum", group.momentum());
    }
  }
  void SetRate(const Layer &layer, const std::string &what, double value)
  {
    const std::string key = "muon_layer_" + layer.key + "_" + what;
    char              text[32];

    if (told_.count(key) > 0 && told_[key] == value) return;
    std::snprintf(text, sizeof(text), "%.17g", value);
    Call(MuonSetParameter, muon_, key.c_str(), (const char *)text);
    told_[key] = value;
  }

  void SetUp()
  {
    PetscInt  n;
    char    **names, **values;
    PetscBool used;

    if (ready_) return;
    Call(MuonSetFromOptions, muon_);
    Call(MuonSetUp, muon_);
    ready_ = true;
    /* What was read here counts as read in the program's database */
    Call(PetscOptionsLeftGet, nullptr, &n, &names, &values);
    for (PetscInt i = 0; i < n; i++) {
      Call(PetscOptionsUsed, options_, (const char *)names[i], &used);
      if (used) Call(PetscOptionsHasName, nullptr, nullptr, ("-" + std::string(names[i])).c_str(), &used);
    }
    Call(PetscOptionsLeftRestore, nullptr, &n, &names, &values);
  }

  static PetscErrorCode Compute(::Muon, PetscReal *loss, void *ctx)
  {
    Muon *self = static_cast<Muon *>(ctx);

    /* An exception must not leave the step, which other ranks are in: a loss that is no number ends it everywhere */
    try {
      *loss = (PetscReal)self->Gradients();
    } catch (...) {
      self->failed_ = std::current_exception();
      *loss         = std::numeric_limits<PetscReal>::quiet_NaN();
    }
    return PETSC_SUCCESS;
  }

  double Gradients()
  {
    if (closure_) {
      at::AutoGradMode with(true);

      loss_ = closure_();
    }
    for (Layer &layer : layers_) {
      const torch::Tensor &p = layer.p;

      if (layer.rule == "frozen") continue;
      TORCH_CHECK(p.data_ptr() == layer.address, "parameter \"", layer.name, "\": its memory is another than when the optimizer was made: parameters are changed in place, and not replaced");
      TORCH_CHECK(p.grad().defined(), "parameter \"", layer.name, "\" has no gradient: its loss does not depend on it, or backward() was not called; the rule frozen leaves it out");
      TORCH_CHECK(layer.trained.is_same(p) || torch::equal(layer.trained.to(p.scalar_type()), p), "parameter \"", layer.name, "\" was changed by the program: in ", p.dtype(), " that is not possible, its copy in float32 is what is trained");
      layer.grad = p.grad();
      if (layer.grad.scalar_type() != layer.trained.scalar_type() || layer.grad.strides() != layer.trained.strides()) {
        layer.grad = torch::empty_strided(p.sizes(), layer.trained.strides(), layer.trained.options().requires_grad(false)).copy_(p.grad());
      }
      Call(MuonLayerSetGradientArray, layer.handle, (const void *)layer.grad.data_ptr());
    }
    return loss_.defined() ? loss_.item<double>() : 0;
  }

  /* Copies in float32 go back; torch finds uses of weights that a graph had saved before */
  void Finish()
  {
    torch::NoGradGuard guard;

    for (Layer &layer : layers_) {
      if (!layer.trained.is_same(layer.p)) layer.p.copy_(layer.trained);
      else layer.p.unsafeGetTensorImpl()->bump_version();
    }
  }

  /* The same new folder on all ranks */
  std::filesystem::path SharedFolder()
  {
    unsigned long number = std::random_device()();

    MPI_Bcast(&number, 1, MPI_UNSIGNED_LONG, 0, PetscObjectComm((PetscObject)muon_));
    return std::filesystem::temp_directory_path() / ("petscmuon-" + std::to_string(number));
  }
  void Remove(const std::filesystem::path &folder) const
  {
    std::error_code error;

    MPI_Barrier(PetscObjectComm((PetscObject)muon_));
    std::filesystem::remove_all(folder, error);
  }
};

} // namespace petscmuon
