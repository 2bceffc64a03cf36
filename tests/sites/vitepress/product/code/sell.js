export function sell(kind) {
  // #region discount
  const price = kind === 'child' ? 1 : 3
  // #endregion discount
  return price
}
