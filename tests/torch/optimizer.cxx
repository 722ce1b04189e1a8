/*
   petscmuon::Muon: the tutorial; updates beside those of torch::optim::SGD, which the type sgd has to equal; memory that is strided;
   bfloat16; schedulers; save and load; what is refused.
*/
#define main TutorialMain
#include "../../tutorials/torchcxx.cxx"
#undef main
#include <functional>
#include <sstream>

static int rank, size;

#define Must(condition, what) \
  do { \
    if (!(condition)) { \
      std::fprintf(stderr, "rank %d: %s: not %s\n", rank, what, #condition); \
      MPI_Abort(PETSC_COMM_WORLD, 1); \
    } \
  } while (0)

static void Refused(const char what[], const std::string &text, const std::function<void()> &call)
{
  std::string said;

  try {
    call();
  } catch (const std::exception &error) {
    said = error.what();
  }
  if (said.find(text) == std::string::npos) {
    std::fprintf(stderr, "rank %d: %s: expected an error with '%s', got '%s'\n", rank, what, text.c_str(), said.c_str());
    MPI_Abort(PETSC_COMM_WORLD, 1);
  }
}

static torch::Tensor Parameter(const torch::Tensor &values)
{
  return values.detach().requires_grad_(true);
}

/* The type sgd without momentum is w - rate * mean gradient */
static void Sgd(torch::Tensor p, const char what[])
{
  const torch::Tensor  start = p.detach().clone();
  petscmuon::Muon      optimizer({p}, PETSC_COMM_WORLD, "-muon_type dense -muon_momentum 0", petscmuon::MuonOptions(0.5).type("sgd"));
  torch::optim::StepLR scheduler(optimizer, 1, 0.5);

  for (int step = 0; step < 3; step++) {
    p.mutable_grad() = torch::full_like(p, (double)(rank + 1)).detach();
    optimizer.step();
    scheduler.step();
  }
  /* StepLR has the rates 1/2, 1/2 and 1/4; with a mean gradient of (size + 1) / 2 all is exact in binary */
  Must(torch::equal(p.detach(), start - 1.25 * (size + 1) / 2), what);
}

static void Memory()
{
  Sgd(Parameter(torch::arange(12).reshape({3, 4}).to(torch::kFloat)), "float32");
  Sgd(Parameter(torch::arange(12).reshape({3, 4}).to(torch::kDouble)), "float64");
  Sgd(Parameter(torch::arange(24).reshape({3, 8}).to(torch::kFloat).slice(1, 0, 4)), "rows with gaps");
  Sgd(Parameter(torch::arange(12).reshape({4, 3}).to(torch::kFloat).t()), "columns");
  Sgd(Parameter(torch::arange(24).reshape({2, 3, 4}).to(torch::kFloat)), "three dimensions");
  Sgd(Parameter(torch::arange(5).to(torch::kFloat)), "a vector");
  Sgd(Parameter(torch::tensor(3.f)), "a scalar");
  Sgd(Parameter(torch::arange(12).reshape({3, 4}).to(torch::kBFloat16)), "bfloat16");
}

/* One goes on from what another one saved, bit for bit, and so does itself */
static void State()
{
  const char       *options = "-muon_type ef21 -ef21_compressor topk -ef21_server_compressor qsgd";
  Problem           first(rank), second(rank);
  petscmuon::Muon   a(first.net->named_parameters(), PETSC_COMM_WORLD, options), b(second.net->named_parameters(), PETSC_COMM_WORLD, options);
  std::stringstream stream;
  auto              run = [](Problem &problem, petscmuon::Muon &optimizer, int n) {
    for (int step = 0; step < n; step++) {
      optimizer.step([&] {
        optimizer.zero_grad();
        torch::Tensor loss = problem.Loss();
        loss.backward();
        return loss;
      });
    }
  };

  run(first, a, 3);
  static_cast<petscmuon::MuonOptions &>(a.param_groups()[0].options()).lr(0.01);
  torch::save(a, stream);
  run(first, a, 3);
  torch::load(b, stream);
  Must(b.param_groups()[0].options().get_lr() == 0.01, "rate of the state");
  run(second, b, 3);
  for (size_t i = 0; i < first.net->parameters().size(); i++) Must(torch::equal(first.net->parameters()[i], second.net->parameters()[i]), "weights after load");
  Must(!torch::equal(first.net->parameters()[0], Problem(rank).net->parameters()[0]), "steps move");
}

static double Number(petscmuon::Muon &optimizer, const char key[])
{
  char text[64];

  MuonGetParameter(optimizer.muon(), key, text, sizeof(text));
  return std::stod(text);
}

/* Numbers that are not given are those of presets and options, and groups show them */
static void Numbers()
{
  const std::string       options = "-muon_preset torch -muon_layer_p2.weight_learning_rate 0.125";
  Problem                 problem(rank);
  auto                    named = problem.net->named_parameters();
  petscmuon::Muon         optimizer(named, PETSC_COMM_WORLD, options);
  petscmuon::MuonOptions &group = static_cast<petscmuon::MuonOptions &>(optimizer.param_groups()[0].options());

  Must(group.lr() == 1e-3 && group.momentum() == .95 && group.weight_decay() == .1 && group.adamw_lr() == 1e-3, "numbers of the preset");
  problem.Loss().backward();
  optimizer.step();
  Must(Number(optimizer, "muon_layer_p2.weight_learning_rate") == .125, "a layer's own rate");
  group.lr(5e-4);
  optimizer.step();
  Must(Number(optimizer, "muon_layer_p2.weight_learning_rate") == .0625 && Number(optimizer, "muon_layer_p0.weight_learning_rate") == 5e-4 && Number(optimizer, "muon_layer_p0.bias_learning_rate") == 5e-4, "rates in proportion");
  Must(Number(optimizer, "muon_adamw_weight_decay") == .01, "AdamW's decay of the preset");
  Refused("both", "the option -muon_momentum both give", [&] { petscmuon::Muon({Parameter(torch::zeros({2, 2}))}, PETSC_COMM_WORLD, "-muon_momentum 0.5", petscmuon::MuonOptions().momentum(.5)); });
  Refused("both on one rank", rank == size - 1 ? "both give" : "rank " + std::to_string(size - 1) + " has an error", [&] {
    petscmuon::Muon({Parameter(torch::zeros({2, 2}))}, PETSC_COMM_WORLD, rank == size - 1 ? "-muon_learning_rate 0.5" : "", petscmuon::MuonOptions(.5));
  });
  /* Names that PETSc cannot tell apart */
  const torch::Tensor p[]  = {Parameter(torch::zeros({2, 2})), Parameter(torch::zeros({2, 2}))};
  auto                pair = [&](const char one[], const char other[]) { petscmuon::Muon({torch::optim::OptimizerParamGroup({p[0], p[1]})}, PETSC_COMM_WORLD, "", petscmuon::MuonOptions(), {one, other}); };

  pair("a_1", "a.1");
  Refused("names", "\"1.w\" and \"p1.w\" are both", [&] { pair("1.w", "p1.w"); });
}

/* A NaN on one rank is an exception on all, or a warning once */
static void Diverges()
{
  struct Handler : public c10::WarningHandler {
    int  said = 0;
    void process(const c10::Warning &warning) override
    {
      said += warning.msg().find("DIVERGED_NANORINF") != std::string::npos;
    }
  } handler;
  torch::Tensor                          p = Parameter(torch::zeros({2, 2}));
  petscmuon::Muon                        optimizer({p}, PETSC_COMM_WORLD);
  c10::WarningUtils::WarningHandlerGuard guard(&handler);
  bool                                   thrown = false;

  for (int step = 0; step < 4; step++) {
    p.mutable_grad() = torch::full_like(p, rank == size - 1 ? NAN : 1).detach();
    try {
      optimizer.step();
    } catch (const petscmuon::Diverged &error) {
      thrown = std::string(error.what()).find("g0.0") != std::string::npos;
    }
    Must(thrown == (step == 0), "an exception by default");
    Must(torch::equal(p, torch::zeros({2, 2})), "no step");
    optimizer.on_nan("warn");
    thrown = false;
  }
  Must(handler.said == (rank == 0), "one warning");
  p.mutable_grad() = torch::ones_like(p).detach();
  optimizer.step();
  Must(!torch::equal(p, torch::zeros({2, 2})), "a step");
}

/* Rank 0 names who is missing, and waits on; what one rank cannot load is an error of all, and nothing is written */
static void Together()
{
  struct Listener : public std::stringbuf {
    int sync() override
    {
      if (str().find("waits in save() for rank") == std::string::npos) return 0;
      MPI_Send(nullptr, 0, MPI_INT, size - 1, 7, MPI_COMM_WORLD);
      str("");
      return 0;
    }
  } listener;
  const bool        last = rank == size - 1;
  const std::string away = std::filesystem::current_path() / ("written" + std::to_string(rank));
  Problem           problem(rank);
  petscmuon::Muon   optimizer(problem.net->named_parameters(), PETSC_COMM_WORLD);
  std::stringstream stream, none;
  std::streambuf   *before = std::cerr.rdbuf();

  problem.Loss().backward();
  optimizer.step();
  setenv("PETSCMUON_PATIENCE", "0", 1);
  if (rank == 0) std::cerr.rdbuf(&listener);
  else if (last) MPI_Recv(nullptr, 0, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  torch::save(optimizer, stream);
  std::cerr.rdbuf(before);
  unsetenv("PETSCMUON_PATIENCE");
  const torch::Tensor kept = problem.net->parameters()[2].detach().clone();
  for (const std::string &name : {std::string("../../written"), away, "step-000000000001-000001/../../" + away, std::string("step-000000000001-000001/rank-000000\0", 37), std::string(300, 'x'), std::string("step-000000000001-000001/rank-000009")}) {
    torch::serialize::OutputArchive       bad;
    torch::serialize::InputArchive        in;
    c10::Dict<std::string, torch::Tensor> files;
    std::stringstream                     text;

    files.insert(last ? name : "step-000000000001-000001/rank-00000" + std::to_string(rank), torch::zeros({4}, torch::kUInt8));
    bad.write("group0", torch::tensor({.5, .5, .5, .5}, torch::kDouble));
    bad.write("petscmuon", c10::IValue(files));
    bad.save_to(text);
    in.load_from(text);
    Refused(name.c_str(), last ? "each rank loads its own archive" : "has an error", [&] { optimizer.load(in); });
    Must(!std::filesystem::exists(away), "no file is written");
  }
  Must(optimizer.param_groups()[0].options().get_lr() == .02 && torch::equal(kept, problem.net->parameters()[2]), "all is as it was");
  torch::load(optimizer, stream);
}

static void Errors()
{
  Problem         problem(rank);
  auto            named = problem.net->named_parameters();
  petscmuon::Muon optimizer(named, PETSC_COMM_WORLD);
  torch::Tensor   twice = Parameter(torch::zeros({2, 2})), before;
  auto            make  = [](std::vector<torch::Tensor> parameters, const char options[] = "") { petscmuon::Muon(parameters, PETSC_COMM_WORLD, options); };

  Refused("another optimizer", "\"0.weight\" of this or another optimizer", [&] { make(problem.net->parameters()); });
  Refused("one twice", "\"g0.0\" of this or another optimizer", [&] { make({twice, twice}); });
  Refused("an integer", "parameter \"g0.0\" is Strided of int", [&] { make({torch::zeros({2, 2}, torch::kInt)}); });
  Refused("complex", "complex", [&] { make({Parameter(torch::zeros({2, 2}, torch::kComplexFloat))}); });
  Refused("another device", "is on meta, expected cpu", [&] { make({Parameter(torch::zeros({2, 2}, torch::kMeta))}); });
  Refused("no gradient wanted", "requires_grad is false", [&] { make({torch::zeros({2, 2})}); });
  Refused("strides", "has strides [6, 2], expected rows or columns", [&] { make({Parameter(torch::zeros({3, 6}).slice(1, 0, 6, 2))}); });
  Refused("no name", "without a name", [&] { petscmuon::Muon({torch::optim::OptimizerParamGroup({twice})}, PETSC_COMM_WORLD, "", petscmuon::MuonOptions(), {""}); });
  Refused("no such type", "nosuch", [&] { petscmuon::Muon({twice}, PETSC_COMM_WORLD, "", petscmuon::MuonOptions().type("nosuch")); });
  /* Errors of one rank are errors of all, which name it, and nobody moves */
  before = named[2].value().detach().clone();
  problem.Loss().backward();
  if (rank == size - 1) named[2].value().mutable_grad().reset();
  Refused("no gradient", rank == size - 1 ? std::string("parameter \"2.weight\" has no gradient") : "failed on rank " + std::to_string(size - 1), [&] { optimizer.step(); });
  Must(torch::equal(before, named[2].value()), "no step");
  Refused("a closure that fails", rank == 0 ? "no data" : "failed on rank 0", [&] {
    optimizer.step([&] {
      if (rank == 0) throw std::runtime_error("no data");
      torch::Tensor loss = problem.Loss();
      loss.backward();
      return loss;
    });
  });
  Must(torch::equal(before, named[2].value()), "no step");
  if (size > 1) {
    Refused("other parameters on another rank", "ayer", [&] {
      torch::Tensor   p = Parameter(torch::zeros({2 + rank, 2}));
      petscmuon::Muon other({p}, PETSC_COMM_WORLD);
      p.mutable_grad() = torch::ones_like(p).detach();
      other.step();
    });
  }
  /* What a graph saved of the weights is not theirs after a step, and torch knows */
  torch::Tensor graph = (named[2].value() * named[2].value()).sum();
  problem.Loss().backward();
  optimizer.step();
  Must(!torch::equal(before, named[2].value()), "a step");
  Refused("a graph of before", "modified by an inplace operation", [&] { graph.backward(); });
}

/* An embedding of any name, a head by its name, a matrix with one row, which is no vector, and a vector */
static void Presets()
{
  torch::nn::Sequential net({{"tokens", torch::nn::Embedding(5, 4).ptr()}});
  const char *const names[] = {"tokens.weight", "hidden.weight", "hidden.bias", "lm_head.weight"}, *const expected[] = {"adamw", "lmo", "adamw", "adamw"};

  net->push_back("hidden", torch::nn::Linear(4, 1));
  net->push_back("lm_head", torch::nn::Linear(torch::nn::LinearOptions(4, 5).bias(false)));
  petscmuon::Muon optimizer(*net, PETSC_COMM_WORLD, "-muon_preset torch");
  for (int i = 0; i < 4; i++) {
    MuonLayer     layer;
    MuonLayerType type = "none";

    Must(MuonGetLayerByName(optimizer.muon(), names[i], &layer) == PETSC_SUCCESS && MuonLayerGetType(layer, &type) == PETSC_SUCCESS, names[i]);
    Must(std::string(type) == expected[i], names[i]);
  }
}

int main(int argc, char **argv)
{
  Refused("before the start", "has not been started", [] { petscmuon::Muon({Parameter(torch::zeros({2, 2}))}, MPI_COMM_SELF); });
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, NULL));
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  torch::set_num_threads(1);
  Memory();
  State();
  Presets();
  Numbers();
  Diverges();
  Together();
  Errors();
  TutorialMain(argc, argv);
  PetscCall(PetscMuonFinalize());
  return 0;
}
