BEGIN { x = self->y; } // at 1:13
