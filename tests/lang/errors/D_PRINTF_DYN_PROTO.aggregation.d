BEGIN { @ = count(); printa("%@*d", @); } // at 1:22
