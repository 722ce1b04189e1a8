#pragma once

/*
   The one source of the version: the makefile reads it for the library's soname, petscmuon.pc and the
   configuration fragments
*/
#define PETSCMUON_VERSION_MAJOR    0
#define PETSCMUON_VERSION_MINOR    1
#define PETSCMUON_VERSION_SUBMINOR 0
