BEGIN { @ = llquantize(1, 10, 0, 60, 10); }
