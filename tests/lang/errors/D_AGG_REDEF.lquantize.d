BEGIN { @a = lquantize(1, 0, 9); @a = lquantize(1, 0, 8); }
