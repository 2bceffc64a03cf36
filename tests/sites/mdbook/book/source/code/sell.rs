fn sell() {
    let a = 1;
    // ANCHOR: price
    let price = 3;
    // ANCHOR_END: price
    print(price);
}
