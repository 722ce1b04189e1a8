/*
   Kokkos from 3.4 to 5.x: what differs between its releases is adapted here and nowhere else.
*/
#pragma once

#include <Kokkos_Core.hpp>

namespace muon {

/* 3.7 has a struct of settings, whose older form went with 4 */
inline void StartKokkos()
{
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;

  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
}

/* Known since 3.7; before, a second initialization ends the program */
inline bool KokkosIsOver()
{
#if KOKKOS_VERSION >= 30700
  return Kokkos::is_finalized();
#else
  return false;
#endif
}

} // namespace muon
