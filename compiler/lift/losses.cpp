// Texts of the loss codes.
#include "compiler/lift/losses.h"

namespace dmsh {

const char* loss_meaning(uint16_t code) {
    switch (code) {
#define DMSH_LOSS(number, name, meaning)                                                                               \
    case number: return meaning;
#include "compiler/lift/losses.def"
    }
    return "unknown code";
}

} // namespace dmsh
