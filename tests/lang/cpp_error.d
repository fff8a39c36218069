// args: -q -C -s {}
#include "cpp.h"
BEGIN {
x = nothing;
}
