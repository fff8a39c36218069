BEGIN { @ = llquantize(1, timestamp, 0, 6, 10); }
