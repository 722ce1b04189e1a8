/*
   The optimizer for C++ programs with libtorch: petscmuon::Muon is a torch::optim::Optimizer on the ranks of MPI.

     petscmuon::Muon optimizer(net->named_parameters(), MPI_COMM_WORLD, "-muon_type ef21 -ef21_compressor topk");
     optimizer.zero_grad();
     loss.backward();
     optimizer.step();

   Gradients are those of the rank; the optimizer forms the mean. Matrices are updated by Muon, vectors by AdamW.
   The constructor, step(), save(), load() and the end of an optimizer are collective. Errors are exceptions, those of one rank on all.

   This header needs C++17 and the headers of torch; the library itself knows nothing of torch.
*/
#pragma once

#include <petscmuon.h>
#include <torch/torch.h>
#include <ftw.h>
#include <sys/stat.h>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <thread>

namespace petscmuon {

/* A step was not taken, on any rank: a NaN, weights that differ, or what else MuonConvergedReason has. All is as it was before it */
struct Diverged : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/*
   What a group of parameters has. A number that is not given is that of the options, -muon_learning_rate, -muon_momentum,
   -muon_weight_decay and -muon_adamw_learning_rate, and then stands in the group. Schedulers change lr, and adamw_lr in proportion. type is lmo, adamw, nadamw, soap, sgd or frozen; an
   empty one is lmo for two dimensions and more, else adamw with the rate adamw_lr
*/
struct MuonOptions : public torch::optim::OptimizerCloneableOptions<MuonOptions> {
  MuonOptions(std::optional<double> lr = std::nullopt) : lr_(lr) {}
  TORCH_ARG(std::optional<double>, lr);
  TORCH_ARG(std::optional<double>, momentum);
  TORCH_ARG(std::optional<double>, weight_decay);
  TORCH_ARG(std::optional<double>, adamw_lr);
  TORCH_ARG(std::string, type);

public:
  double get_lr() const override
  {
    return lr().value();
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
      : Muon(groups, MuonOptions().type(defaults.type()))
  {
    MuonOptions given = defaults;
    PetscBool   started;
    char       *all;

    PetscInitialized(&started);
    TORCH_CHECK(started, "petscmuon::Muon: PETSc has not been started, expected PetscMuonInitialize() or PetscInitialize() before");
    Call(PetscMuonInitialize, nullptr, nullptr, nullptr, nullptr);
    Call(MuonCreate, comm, &muon_);
    MPI_Comm_rank(comm, &rank_);
    for (PetscMPIInt &tag : tags_) Call(PetscObjectGetNewTag, (PetscObject)muon_, &tag);
    Together("the constructor", [&] {
      /* A database of its own: what the program's has, and these options */
      Call(PetscOptionsCreate, &options_);
      Call(PetscOptionsGetAll, nullptr, &all);
      Call(PetscOptionsInsertString, options_, (const char *)all);
      PetscFree(all);
      Call(PetscOptionsInsertString, options_, options.c_str());
      for (auto [key, number] : Numbers(given)) {
        TORCH_CHECK(!*number || !Has(key), "petscmuon::Muon: MuonOptions and the option -", key, " both give a number, expected one of them");
        if (*number) Call(PetscOptionsSetValue, options_, ("-" + key).c_str(), Text(**number).c_str());
      }
      Call(PetscObjectSetOptions, (PetscObject)muon_, options_);
      Call(MuonSetObjectiveAndGradient, muon_, Compute, this);
      for (size_t g = 0, i = 0; g < param_groups().size(); g++) {
        for (size_t k = 0; k < param_groups()[g].params().size(); k++, i++) {
          AddLayer(g, names.empty() ? "g" + std::to_string(g) + "." + std::to_string(k) : names.at(i), param_groups()[g].params()[k], embeddings);
        }
      }
    });
    Call(MuonSetFromOptions, muon_);
    Call(MuonSetParameter, muon_, "muon_error_if_not_converged", "true"); /* which says where */
    Together("the constructor", [&] { Show(given); });
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

  /* "warn" warns once of a NaN, where step() throws Diverged by default */
  void on_nan(const std::string &what)
  {
    TORCH_CHECK(what == "warn" || what == "throw", "petscmuon::Muon: on_nan(\"", what, "\"), expected \"throw\" or \"warn\"");
    warns_ = what == "warn";
  }

  /* Takes a step with the gradients that backward() left; a closure computes them anew. An exception on one rank ends the step on all, with everything as it was */
  torch::Tensor step(LossClosure closure = nullptr) override
  {
    at::AutoGradMode    with(true); /* for the closure */
    MuonConvergedReason reason;

    Meet(0, "step()");
    closure_ = closure;
    loss_    = torch::Tensor();
    failed_  = Caught([&] {
      size_t count = 0;

      for (const auto &group : param_groups()) count += group.params().size();
      TORCH_CHECK(count == layers_.size(), "petscmuon::Muon: ", count, " parameters in the groups, expected the ", layers_.size(), " of its constructor");
      SetRates();
    });
    try {
      SetUp();
      Call(MuonStep, muon_);
    } catch (const Diverged &error) {
      Call(MuonGetConvergedReason, muon_, &reason);
      if (!warns_ || reason != MUON_DIVERGED_NANORINF) throw;
      if (!warned_ && rank_ == 0) TORCH_WARN(error.what(), "; this is said once");
      warned_ = true;
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

    Meet(1, "save()");
    self->InFolder(
      "save()", [&](const std::filesystem::path &) { self->SetRates(); }, [&](const std::filesystem::path &folder) { Call(MuonSaveCheckpoint, muon_, folder.c_str(), (PetscInt)1); },
      [&](const std::filesystem::path &folder) {
        for (size_t g = 0; g < param_groups().size(); g++) {
          const auto numbers = Numbers(GroupOptions(g));

          archive.write("group" + std::to_string(g), torch::tensor({**numbers[0].second, **numbers[1].second, **numbers[2].second, **numbers[3].second}, torch::kDouble));
        }
        for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
          const std::string name = entry.path().lexically_relative(folder).string();

          if (std::regex_match(name, FileNames())) files.insert(name, torch::from_file(entry.path().string(), false, (int64_t)entry.file_size(), torch::kUInt8).clone());
        }
        archive.write("petscmuon", c10::IValue(files));
      });
  }

  /* Goes on from what save() wrote on the same rank: weights, state and step are those of then, bit for bit. After an error all is as it was */
  void load(torch::serialize::InputArchive &archive) override
  {
    std::vector<MuonOptions> before;

    Meet(2, "load()");
    for (size_t g = 0; g < param_groups().size(); g++) before.push_back(GroupOptions(g));
    try {
      InFolder(
        "load()",
        [&](const std::filesystem::path &folder) {
          c10::IValue   files;
          torch::Tensor numbers;

          for (size_t g = 0; g < param_groups().size(); g++) {
            archive.read("group" + std::to_string(g), numbers);
            for (int64_t k = 0; k < 4; k++) *Numbers(GroupOptions(g))[(size_t)k].second = numbers[k].item<double>();
          }
          archive.read("petscmuon", files);
          for (const auto &file : files.toGenericDict()) {
            const std::string  &name = file.key().toStringRef();
            const torch::Tensor data = file.value().toTensor();

            TORCH_CHECK(std::regex_match(name, FileNames()), "petscmuon::Muon: each rank loads its own archive, rank ", rank_, " saves no file \"", name, "\"");
            std::filesystem::create_directories((folder / name).parent_path());
            TORCH_CHECK(std::ofstream(folder / name, std::ios::binary).write((const char *)data.data_ptr(), data.numel()).flush(), "petscmuon::Muon: ", folder / name, " cannot be written");
          }
          SetRates();
        },
        [&](const std::filesystem::path &folder) { Call(MuonLoadCheckpoint, muon_, folder.c_str()); }, [](const std::filesystem::path &) {});
    } catch (...) {
      for (size_t g = 0; g < before.size(); g++) GroupOptions(g) = before[g];
      throw;
    }
    Finish();
  }

private:
  struct Layer {
    std::string           name, key, type;
    size_t                group;
    torch::Tensor         p, trained, grad = {}; /* trained is p, or its copy in float32 */
    double                first   = 0;           /* rate of the group at the start */
    std::optional<double> own     = {};          /* rate of the layer then, where options have one for it */
    double                told[3] = {};          /* rate, decay and momentum as the library knows them */
    void                 *address = nullptr;
    MuonLayer             handle  = nullptr;
  };

  static inline std::map<void *, std::string> taken_; /* memory of the parameters of all optimizers */

  ::Muon             muon_    = nullptr;
  PetscOptions       options_ = nullptr;
  PetscMPIInt        rank_ = 0, tags_[3] = {};
  bool               ready_ = false, warns_ = false, warned_ = false;
  std::vector<Layer> layers_;
  LossClosure        closure_;
  torch::Tensor      loss_;
  std::exception_ptr failed_;

  Muon(const std::vector<torch::optim::OptimizerParamGroup> &groups, const MuonOptions &defaults) : Optimizer(groups, std::make_unique<MuonOptions>(defaults)) {}

  /* All ranks call what. Rank 0 waits for an empty message of each; it names once those that are missing, and waits on */
  void Meet(int method, const char what[]) const
  {
    const MPI_Comm    comm     = PetscObjectComm((PetscObject)muon_);
    const auto        start    = std::chrono::steady_clock::now();
    const char *const text     = std::getenv("PETSCMUON_PATIENCE");
    double            patience = text ? std::atof(text) : 30, waited = 0;
    std::set<int>     missing;
    int               size, found;

    MPI_Comm_size(comm, &size);
    if (rank_ > 0) MPI_Send(nullptr, 0, MPI_BYTE, 0, tags_[method], comm);
    for (int rank = 1; rank < size && rank_ == 0; rank++) missing.insert(rank);
    while (!missing.empty()) {
      for (int rank : std::set<int>(missing)) {
        MPI_Iprobe(rank, tags_[method], comm, &found, MPI_STATUS_IGNORE);
        if (!found) continue;
        MPI_Recv(nullptr, 0, MPI_BYTE, rank, tags_[method], comm, MPI_STATUS_IGNORE);
        missing.erase(rank);
      }
      waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (!missing.empty() && waited >= patience) {
        patience = INFINITY;
        std::cerr << "petscmuon: rank 0 waits in " << what << " for rank " << c10::Join(", ", missing) << ": call " << what << " on all ranks, not on some" << std::endl;
      }
      if (!missing.empty()) std::this_thread::sleep_for(std::chrono::duration<double>(std::min(waited / 16, .01)));
    }
  }

  template <typename F> static std::exception_ptr Caught(F call)
  {
    try {
      call();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  /* Calls what sends nothing. An exception on one rank is one on all */
  template <typename F> void Together(const char what[], F call) const
  {
    const std::exception_ptr error = Caught(call);
    int                      first = error ? rank_ : INT_MAX;

    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)muon_));
    if (error) std::rethrow_exception(error);
    TORCH_CHECK(first == INT_MAX, "petscmuon::Muon: ", what, ": rank ", first, " has an error");
  }

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
    if (code == PETSC_ERR_NOT_CONVERGED) throw Diverged(first);
    TORCH_CHECK(code == PETSC_SUCCESS, "petscmuon::Muon: ", first.empty() ? "error code " + std::to_string((int)code) : first);
  }

  MuonOptions &GroupOptions(size_t g) const
  {
    return const_cast<MuonOptions &>(static_cast<const MuonOptions &>(param_groups()[g].options()));
  }

  /* The numbers of a group, and the options that they are */
  static std::array<std::pair<std::string, std::optional<double> *>, 4> Numbers(MuonOptions &group)
  {
    return {{{"muon_learning_rate", &group.lr()}, {"muon_momentum", &group.momentum()}, {"muon_weight_decay", &group.weight_decay()}, {"muon_adamw_learning_rate", &group.adamw_lr()}}};
  }

  static std::string Text(double number)
  {
    char text[32];

    return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
  }

  bool Has(const std::string &key) const
  {
    PetscBool found;

    Call(PetscOptionsHasName, options_, nullptr, ("-" + key).c_str(), &found);
    return found == PETSC_TRUE;
  }

  /* A number of the library, or another where that one decides */
  double Get(const std::string &key, double other) const
  {
    char text[64];

    Call(MuonGetParameter, muon_, key.c_str(), text, sizeof(text));
    return text[0] == 'a' ? other : std::stod(text);
  }

  static bool Adam(const std::string &type)
  {
    return type == "adamw" || type == "nadamw" || type == "soap";
  }

  /* The rate or the decay of the layers of a type */
  double OfType(const std::string &what, const std::string &type) const
  {
    const double all = Get("muon_" + what, 0);

    return Adam(type) ? Get("muon_adamw_" + what, all) : type == "sgd" ? Get("muon_sgd_" + what, all) : all;
  }

  /* The name of a file that this rank saves and loads, in its folder */
  std::regex FileNames() const
  {
    char name[32];

    std::snprintf(name, sizeof(name), "/rank-%06d", rank_);
    return std::regex("step-[0-9]{12,18}-[0-9]{6,18}(" + std::string(name) + (rank_ > 0 ? ")" : "|/manifest)"));
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
    const std::string key   = (std::isalpha((unsigned char)name[0]) ? "" : "p") + std::regex_replace(name, std::regex("_(?=[0-9])"), "_.");
    Layer             layer = {name, key, !group.type().empty() ? group.type() : p.dim() >= 2 ? "lmo" : "adamw", g, p, p};

    TORCH_CHECK(!name.empty(), "petscmuon::Muon: a parameter of shape ", p.sizes(), " without a name, expected those of named_parameters()");
    TORCH_CHECK(p.layout() == torch::kStrided && p.is_floating_point(), "parameter \"", name, "\" is ", p.layout(), " of ", p.dtype(), ", expected a dense one of float32, float64, bfloat16 or float16");
    TORCH_CHECK(p.is_cpu() || p.is_cuda(), "parameter \"", name, "\" is on ", p.device(), ", expected cpu, or cuda where PetscMuon was built with a Kokkos for it (make lib KOKKOS_DIR=...)");
    TORCH_CHECK(p.requires_grad() || layer.type == "frozen", "parameter \"", name, "\": requires_grad is false, so that nothing computes a gradient: give its group the type frozen");
    if (p.scalar_type() != torch::kFloat && p.scalar_type() != torch::kDouble) layer.trained = p.detach().to(torch::kFloat).contiguous();
    layer.address = p.data_ptr();
    TORCH_CHECK(p.numel() == 0 || taken_.count(layer.address) == 0, "parameter \"", name, "\": its memory is that of parameter \"", taken_[layer.address], "\" of this or another optimizer");
    for (const Layer &other : layers_) TORCH_CHECK(strcasecmp(other.key.c_str(), key.c_str()) != 0, "parameters \"", other.name, "\" and \"", name, "\" are both \"", key, "\" to options, expected names that differ");
    Call(MuonLayerArrayInitialize, &array);
    array.type    = layer.trained.scalar_type() == torch::kFloat ? PETSC_FLOAT : PETSC_DOUBLE;
    array.memtype = p.is_cuda() ? PETSC_MEMTYPE_DEVICE : PETSC_MEMTYPE_HOST;
    array.w       = layer.trained.data_ptr();
    array.kind    = embeddings.count(layer.address) > 0 ? MUON_LAYER_KIND_EMBEDDING : p.dim() > 1 ? MUON_LAYER_KIND_MATRIX : MUON_LAYER_KIND_AUTO;
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
    if (!group.type().empty() || layer.type != "lmo") Call(MuonLayerSetType, layer.handle, layer.type.c_str());
    layers_.push_back(layer);
    if (p.numel() > 0) taken_[layer.address] = name;
  }

  /* Types and numbers as options and presets left them go to the groups, where these do not say otherwise */
  void Show(const MuonOptions &given)
  {
    MuonLayerType type;

    for (size_t g = 0; g < param_groups().size(); g++) {
      MuonOptions         &group = GroupOptions(g);
      std::string          first = group.type();
      std::vector<Layer *> mine;

      for (Layer &layer : layers_) {
        if (layer.group != g) continue;
        Call(MuonLayerGetType, layer.handle, &type);
        layer.type = type;
        if (first.empty() || (group.type().empty() && layer.type == "lmo")) first = layer.type;
        mine.push_back(&layer);
      }
      const double shown[] = {!group.type().empty() && given.lr() ? *given.lr() : OfType("learning_rate", group.type()), Get("muon_momentum", 0), OfType("weight_decay", first), OfType("learning_rate", "adamw")};

      for (size_t k = 0; k < 4; k++) *Numbers(group)[k].second = Numbers(group)[k].second->value_or(shown[k]);
      for (Layer *layer : mine) {
        const std::string key = "muon_layer_" + layer->key + "_learning_rate";

        if (Has(key)) layer->own = Get(key, 0);
        else if (layer->type != "lmo" && !Adam(layer->type) && layer->type != group.type()) layer->own = OfType("learning_rate", layer->type);
        layer->first   = *group.lr();
        layer->told[0] = layer->own.value_or(OfType("learning_rate", layer->type));
        layer->told[1] = shown[2];
        layer->told[2] = shown[1];
      }
    }
    SetRates();
  }

  /* Rates, decays and momenta of the groups go to the layers, where they changed */
  void SetRates()
  {
    static const char *const keys[] = {"learning_rate", "weight_decay", "momentum"};

    for (Layer &layer : layers_) {
      const MuonOptions &group = GroupOptions(layer.group);
      const double       lr = *group.lr(), part = layer.first > 0 ? lr / layer.first : lr > 0;
      const double       rate    = layer.own ? *layer.own * part : Adam(layer.type) && layer.type != group.type() ? *group.adamw_lr() * part : lr;
      const double       value[] = {rate, *group.weight_decay(), *group.momentum()};

      for (int k = 0; k < (layer.type == "frozen" ? 0 : layer.type == "lmo" ? 3 : 2); k++) {
        if (layer.told[k] == value[k]) continue;
        Call(MuonSetParameter, muon_, ("muon_layer_" + layer.key + "_" + keys[k]).c_str(), Text(value[k]).c_str());
        layer.told[k] = value[k];
      }
    }
  }

  void SetUp()
  {
    PetscInt  n;
    char    **names, **values;
    PetscBool used;

    if (ready_) return;
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

    if (self->failed_) return PETSC_ERR_USER;
    try {
      if (self->closure_) self->loss_ = self->closure_();
      for (Layer &layer : self->layers_) {
        const torch::Tensor &p = layer.p;

        if (layer.type == "frozen") continue;
        TORCH_CHECK(p.data_ptr() == layer.address, "parameter \"", layer.name, "\": its memory is another than when the optimizer was made: parameters are changed in place, and not replaced");
        TORCH_CHECK(p.grad().defined(), "parameter \"", layer.name, "\" has no gradient: its loss does not depend on it, or backward() was not called; the type frozen leaves it out");
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

  /* Gives a new folder, the same on all ranks, to before, to call, which is collective, and to after */
  template <typename F, typename G, typename H> void InFolder(const char what[], F before, G call, H after)
  {
    const MPI_Comm comm   = PetscObjectComm((PetscObject)muon_);
    unsigned long  number = std::random_device()();

    MPI_Bcast(&number, 1, MPI_UNSIGNED_LONG, 0, comm);
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("petscmuon-" + std::to_string(number));

    /* No other user's, and none that is there */
    Together(what, [&] { TORCH_CHECK(rank_ > 0 || mkdir(folder.c_str(), 0700) == 0, "petscmuon::Muon: ", folder, " cannot be made"); });
    const std::exception_ptr failed = Caught([&] {
      Together(what, [&] { before(folder); });
      SetUp();
      call(folder);
      Together(what, [&] { after(folder); });
    });
    /* pip's torch 2.9 has a std::filesystem::remove_all() that crashes */
    nftw(
      folder.c_str(), [](const char *path, const struct stat *, int, struct FTW *) { return std::remove(path); }, 8, FTW_DEPTH | FTW_PHYS);
    if (failed) std::rethrow_exception(failed);
  }
};

} // namespace petscmuon
