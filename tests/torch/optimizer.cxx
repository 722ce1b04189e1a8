/*
   petscmuon::Muon: the tutorial; updates beside those of torch::optim::SGD, which the rule sgd has to equal; memory that is strided;
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

/* The rule sgd without momentum is w - rate * mean gradient */
static void Sgd(torch::Tensor p, const char what[])
{
  const torch::Tensor  start = p.detach().clone();
  petscmuon::Muon      optimizer({p}, PETSC_COMM_WORLD, "-muon_type dense -muon_momentum 0", petscmuon::MuonOptions(0.5).rule("sgd"));
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
  Refused("no such rule", "nosuch", [&] { petscmuon::Muon({twice}, PETSC_COMM_WORLD, "", petscmuon::MuonOptions().rule("nosuch")); });
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
    MuonLayerRule rule = "none";

    Must(MuonGetLayerByName(optimizer.muon(), names[i], &layer) == PETSC_SUCCESS && MuonLayerGetRule(layer, &rule) == PETSC_SUCCESS, names[i]);
    Must(std::string(rule) == expected[i], names[i]);
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
  Errors();
  TutorialMain(argc, argv);
  PetscCall(PetscMuonFinalize());
  return 0;
}
