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
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>

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
};

class Muon : public torch::optim::Optimizer {
public:
  /* options are keys as on a command line, of this optimizer alone; they win over those of the command line, which it reads too */
  Muon(const torch::OrderedDict<std::string, torch::Tensor> &named, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions())
      : Muon({torch::optim::OptimizerParamGroup(named.values())}, comm, options, defaults, named.keys())
  {
  }
  Muon(const std::vector<torch::Tensor> &parameters, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions()) : Muon({torch::optim::OptimizerParamGroup(parameters)}, comm, options, defaults) {}
  /* A module, whose embeddings presets know */
  Muon(const torch::nn::Module &module, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions())
      : Muon({torch::optim::OptimizerParamGroup(module.parameters())}, comm, options, defaults, module.named_parameters().keys(), Embeddings(module))
  {
  }
  /* names are those of all parameters in the order of the groups; without, parameter 2 of group 0 is g0.2 */
  Muon(const std::vector<torch::optim::OptimizerParamGroup> &groups, MPI_Comm comm, const std::string &options = "", const MuonOptions &defaults = MuonOptions(), const std::vector<std::string> &names = {}, const std::set<void *> &embeddings = {})
      : Muon(groups, defaults)
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
    for (size_t g = 0, i = 0; g < param_groups().size(); g++) {
      for (size_t k = 0; k < param_groups()[g].params().size(); k++, i++) {
        AddLayer(g, names.empty() ? "g" + std::to_string(g) + "." + std::to_string(k) : names.at(i), param_groups()[g].params()[k], embeddings);
      }
    }
    /* The rules that options, a preset among them, made of those */
    Call(MuonSetFromOptions, muon_);
    for (Layer &layer : layers_) {
      MuonLayerRule rule;

      Call(MuonLayerGetRule, layer.handle, &rule);
      layer.rule = rule;
    }
    SetRates();
  }
  /* Also after an exception in the constructor above */
  ~Muon() override
  {
    for (const Layer &layer : layers_) taken_.erase(layer.address);
    if (muon_ != nullptr) MuonDestroy(&muon_);
    PetscOptionsDestroy(&options_);
  }

  /* For whatever else the library can do */
  ::Muon muon() const
  {
    return muon_;
  }

  /* Takes a step with the gradients that backward() left; a closure computes them anew. An exception on one rank ends the step on all, with everything as it was */
  torch::Tensor step(LossClosure closure = nullptr) override
  {
    at::AutoGradMode with(true); /* for the closure */
    size_t           count = 0;

    for (const auto &group : param_groups()) count += group.params().size();
    TORCH_CHECK(count == layers_.size(), "petscmuon::Muon: ", count, " parameters in the groups, expected the ", layers_.size(), " of its constructor");
    SetUp();
    closure_ = closure;
    loss_    = torch::Tensor();
    failed_  = nullptr;
    try {
      Call(MuonStep, muon_);
    } catch (...) {
      if (failed_) std::rethrow_exception(failed_);
      throw;
    }
    Finish();
    return loss_;
  }

  /* Groups, and this rank's part of a checkpoint. Each rank has an archive of its own. The system's folder for temporary files, TMPDIR, is one that all ranks see */
  void save(torch::serialize::OutputArchive &archive) const override
  {
    Muon                                 *self = const_cast<Muon *>(this);
    c10::Dict<std::string, torch::Tensor> files;

    for (size_t g = 0; g < param_groups().size(); g++) {
      const MuonOptions &group = GroupOptions(g);

      archive.write("group" + std::to_string(g), torch::tensor({group.lr(), group.momentum(), group.weight_decay(), group.adamw_lr()}, torch::kDouble));
    }
    self->SetUp();
    self->InFolder([&](const std::filesystem::path &folder) {
      Call(MuonSaveCheckpoint, muon_, folder.c_str(), (PetscInt)1);
      for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();

        if (name == "manifest" ? rank_ != 0 : name.rfind("rank-", 0) != 0 || std::stoi(name.substr(5)) != rank_) continue;
        files.insert(entry.path().lexically_relative(folder).string(), torch::from_file(entry.path().string(), false, (int64_t)entry.file_size(), torch::kUInt8).clone());
      }
    });
    archive.write("petscmuon", c10::IValue(files));
  }

  /* Goes on from what save() wrote on the same rank: weights, state and step are those of then, bit for bit */
  void load(torch::serialize::InputArchive &archive) override
  {
    c10::IValue   files;
    torch::Tensor numbers;

    for (size_t g = 0; g < param_groups().size(); g++) {
      archive.read("group" + std::to_string(g), numbers);
      const double *value = numbers.data_ptr<double>();

      static_cast<MuonOptions &>(param_groups()[g].options()).lr(value[0]).momentum(value[1]).weight_decay(value[2]).adamw_lr(value[3]);
    }
    archive.read("petscmuon", files);
    SetUp();
    InFolder([&](const std::filesystem::path &folder) {
      for (const auto &file : files.toGenericDict()) {
        const std::filesystem::path path = folder / file.key().toStringRef();
        const torch::Tensor         data = file.value().toTensor();

        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary).write((const char *)data.data_ptr(), data.numel());
      }
      MPI_Barrier(PetscObjectComm((PetscObject)muon_));
      Call(MuonLoadCheckpoint, muon_, folder.c_str());
    });
    Finish();
  }

private:
  struct Layer {
    std::string   name, key, rule;
    size_t        group;
    double        first;                     /* rate at the start */
    torch::Tensor p, trained, grad = {};     /* trained is p, or its copy in float32 */
    double        told[3] = {NAN, NAN, NAN}; /* rate, decay and momentum as the library knows them */
    void         *address = nullptr;
    MuonLayer     handle  = nullptr;
  };

  static inline std::map<void *, std::string> taken_; /* memory of the parameters of all optimizers */

  ::Muon             muon_    = nullptr;
  PetscOptions       options_ = nullptr;
  PetscMPIInt        rank_    = 0;
  bool               ready_   = false;
  std::vector<Layer> layers_;
  LossClosure        closure_;
  torch::Tensor      loss_;
  std::exception_ptr failed_;

  Muon(const std::vector<torch::optim::OptimizerParamGroup> &groups, const MuonOptions &defaults) : Optimizer(groups, std::make_unique<MuonOptions>(defaults)) {}

  template <typename F, typename... A> static void Call(F function, A... arguments)
  {
    std::string first; /* message of an error is what went wrong, later ones are the way to it */
    const auto  hear = [](MPI_Comm, int, const char *, const char *, PetscErrorCode code, PetscErrorType, const char *message, void *text) {
      if (message != nullptr && static_cast<std::string *>(text)->empty()) *static_cast<std::string *>(text) = message;
      return code;
    };

    PetscPushErrorHandler(hear, &first);
    const PetscErrorCode code = function(arguments...);
    PetscPopErrorHandler();
    TORCH_CHECK(code == PETSC_SUCCESS, "petscmuon::Muon: ", first.empty() ? "error code " + std::to_string((int)code) : first);
  }

  const MuonOptions &GroupOptions(size_t g) const
  {
    return static_cast<const MuonOptions &>(param_groups()[g].options());
  }

  /* Memory of the weights of embeddings */
  static std::set<void *> Embeddings(const torch::nn::Module &module)
  {
    std::set<void *> found;

    for (const auto &part : module.modules(false)) {
      if (const auto *table = part->as<torch::nn::Embedding>()) found.insert(table->weight.data_ptr());
      if (const auto *bag = part->as<torch::nn::EmbeddingBag>()) found.insert(bag->weight.data_ptr());
    }
    return found;
  }

  void AddLayer(size_t g, const std::string &name, const torch::Tensor &p, const std::set<void *> &embeddings)
  {
    const MuonOptions &group = GroupOptions(g);
    MuonLayerArray     array;
    /* PETSc drops digits between underscores, and names begin with a letter */
    const std::string key   = (std::isalpha((unsigned char)name[0]) ? "" : "p") + std::regex_replace(name, std::regex("_(?=[0-9])"), ".");
    Layer             layer = {name, key, !group.rule().empty() ? group.rule() : p.dim() >= 2 ? "lmo" : "adamw", g, group.lr(), p, p};

    TORCH_CHECK(!name.empty(), "petscmuon::Muon: a parameter of shape ", p.sizes(), " without a name, expected those of named_parameters()");
    TORCH_CHECK(p.layout() == torch::kStrided && p.is_floating_point(), "parameter \"", name, "\" is ", p.layout(), " of ", p.dtype(), ", expected a dense one of float32, float64, bfloat16 or float16");
    TORCH_CHECK(p.is_cpu() || p.is_cuda(), "parameter \"", name, "\" is on ", p.device(), ", expected cpu, or cuda where PetscMuon was built with a Kokkos for it (make lib KOKKOS_DIR=...)");
    TORCH_CHECK(p.requires_grad() || layer.rule == "frozen", "parameter \"", name, "\": requires_grad is false, so that nothing computes a gradient: give its group the rule frozen");
    if (p.scalar_type() != torch::kFloat && p.scalar_type() != torch::kDouble) layer.trained = p.detach().to(torch::kFloat).contiguous();
    layer.address = p.data_ptr();
    TORCH_CHECK(p.numel() == 0 || taken_.count(layer.address) == 0, "parameter \"", name, "\": its memory is that of parameter \"", taken_[layer.address], "\" of this or another optimizer");
    Call(MuonLayerArrayInitialize, &array);
    array.type    = layer.trained.scalar_type() == torch::kFloat ? PETSC_FLOAT : PETSC_DOUBLE;
    array.memtype = p.is_cuda() ? PETSC_MEMTYPE_DEVICE : PETSC_MEMTYPE_HOST;
    array.w       = layer.trained.data_ptr();
    array.kind    = embeddings.count(layer.address) > 0 ? 2 : p.dim() > 1;
    /* A matrix of the first dimension against the others, whose entries lie side by side */
    const torch::Tensor &t = layer.trained;
    const int64_t        m = t.dim() > 0 ? t.size(0) : 1, n = m > 0 ? t.numel() / m : 0;
    const int64_t        across = t.dim() > 0 && m > 1 ? t.stride(0) : n;
    const bool           rows   = t.numel() < 2 || (t.dim() > 0 && t.select(0, 0).is_contiguous() && across >= n);

    TORCH_CHECK(rows || (t.dim() == 2 && t.stride(0) == 1 && t.stride(1) >= m), "parameter \"", name, "\" of shape ", t.sizes(), " has strides ", t.strides(), ", expected rows or columns whose entries lie side by side: make it of .contiguous()");
    array.M        = (PetscInt)m;
    array.N        = (PetscInt)n;
    array.rowmajor = rows ? PETSC_TRUE : PETSC_FALSE;
    array.ld       = (PetscInt)(rows ? std::max(across, n) : t.stride(1));
    Call(MuonAddLayerArray, muon_, layer.key.c_str(), (const MuonLayerArray *)&array, &layer.handle);
    if (!group.rule().empty() || layer.rule != "lmo") Call(MuonLayerSetRule, layer.handle, layer.rule.c_str());
    layers_.push_back(layer);
    if (p.numel() > 0) taken_[layer.address] = name;
  }

  /* Rates, decays and momenta of the groups go to the layers, where they changed */
  void SetRates()
  {
    static const char *const keys[] = {"learning_rate", "weight_decay", "momentum"};
    char                     text[32];

    for (Layer &layer : layers_) {
      const MuonOptions &group   = GroupOptions(layer.group);
      const double       other   = group.adamw_lr() * (layer.first > 0 ? group.lr() / layer.first : group.lr() > 0);
      const double       value[] = {group.rule().empty() && layer.rule == "adamw" ? other : group.lr(), group.weight_decay(), group.momentum()};

      for (int k = 0; k < (layer.rule == "frozen" ? 0 : layer.rule == "lmo" ? 3 : 2); k++) {
        if (layer.told[k] == value[k]) continue;
        *std::to_chars(text, text + sizeof(text) - 1, value[k]).ptr = '\0';
        Call(MuonSetParameter, muon_, ("muon_layer_" + layer.key + "_" + keys[k]).c_str(), (const char *)text);
        layer.told[k] = value[k];
      }
    }
  }

  void SetUp()
  {
    PetscInt  n;
    char    **names, **values;
    PetscBool used;

    SetRates();
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

  /* Loss and gradients of this rank. The library ends the step on all ranks where one has an error, and step() throws the exception again */
  static PetscErrorCode Compute(::Muon, PetscReal *loss, void *ctx)
  {
    Muon *self = static_cast<Muon *>(ctx);

    try {
      if (self->closure_) self->loss_ = self->closure_();
      for (Layer &layer : self->layers_) {
        const torch::Tensor &p = layer.p;

        if (layer.rule == "frozen") continue;
        TORCH_CHECK(p.data_ptr() == layer.address, "parameter \"", layer.name, "\": its memory is another than when the optimizer was made: parameters are changed in place, and not replaced");
        TORCH_CHECK(p.grad().defined(), "parameter \"", layer.name, "\" has no gradient: its loss does not depend on it, or backward() was not called; the rule frozen leaves it out");
        TORCH_CHECK(layer.trained.is_same(p) || torch::equal(layer.trained.to(p.scalar_type()), p), "parameter \"", layer.name, "\" was changed by the program: in ", p.dtype(), " that is not possible, its copy in float32 is what is trained");
        const bool same = p.grad().scalar_type() == layer.trained.scalar_type() && p.grad().strides() == layer.trained.strides();

        layer.grad = same ? p.grad() : torch::empty_strided(p.sizes(), layer.trained.strides(), layer.trained.options().requires_grad(false)).copy_(p.grad());
        Call(MuonLayerSetGradientArray, layer.handle, (const void *)layer.grad.data_ptr());
      }
      *loss = self->loss_.defined() ? (PetscReal)self->loss_.item<double>() : 0;
    } catch (...) {
      self->failed_ = std::current_exception();
      return PETSC_ERR_USER;
    }
    return PETSC_SUCCESS;
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

  /* Gives use() a new folder, the same on all ranks, until all have used it */
  template <typename F> void InFolder(F use)
  {
    const MPI_Comm  comm   = PetscObjectComm((PetscObject)muon_);
    unsigned long   number = std::random_device()();
    std::error_code error;

    MPI_Bcast(&number, 1, MPI_UNSIGNED_LONG, 0, comm);
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("petscmuon-" + std::to_string(number));

    use(folder);
    MPI_Barrier(comm);
    std::filesystem::remove_all(folder, error);
  }
};

} // namespace petscmuon
