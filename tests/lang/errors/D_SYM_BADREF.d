BEGIN { x = `kmem_flags; } // at 1:13
