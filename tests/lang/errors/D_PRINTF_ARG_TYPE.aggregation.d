BEGIN { @ = count(); printa("%@s", @); } // at 1:22
