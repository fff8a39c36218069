BEGIN { @ = llquantize(1, 10, timestamp, 6, 10); }
