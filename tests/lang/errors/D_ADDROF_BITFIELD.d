struct s { int a : 3; };
BEGIN { this->p = (struct s *)alloca(sizeof (struct s)); trace(&this->p->a); }
// at 2:64
