// Whether the lifts of a thread write probes.
#include "compiler/lift/probe.h"

namespace dmsh {
namespace {

thread_local unsigned living = 0;

} // namespace

LiftProbes::LiftProbes() { ++living; }
LiftProbes::~LiftProbes() { --living; }
bool LiftProbes::wanted() { return living != 0; }

} // namespace dmsh
