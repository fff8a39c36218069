BEGIN { this->p = alloca(8); trace(*this->p); }
// at 1:36
