def total(cents, rate):
    return cents + cents * rate // 100
