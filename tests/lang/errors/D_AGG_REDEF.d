BEGIN { @a = sum(1); @a = avg(1); }
