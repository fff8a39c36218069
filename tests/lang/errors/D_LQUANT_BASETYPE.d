BEGIN { @ = lquantize(1, timestamp, 10); }
