/** Numbers and counts as people read them. */

/** "62 %", and what is near 0 or 1 without claiming certainty: "< 1 %", "> 99 %". */
export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "?";
  if (share > 0 && share < 0.01) return share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;
  if (share < 1 && share > 0.99) return share > 0.999 ? "> 99.9 %" : `${(100 * share).toFixed(1)} %`;
  return `${Math.round(100 * share)} %`;
}

/** "+1.5", "-78.8", "0": three digits that matter, and a sign where it says something. */
export function signed(value) {
  const text = plain(value);
  return value > 0 && text !== "0" ? `+${text}` : text;
}

export function plain(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "?";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace("+", "").replaceAll("-", "−");
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return String(Number(value.toFixed(size < 0.1 ? 3 : digits))).replace("-", "−");
}

/** "−78.8 ± 3.1": a mean with as many digits as its standard deviation says something about; "+100, known". */
export function within(mean, sd) {
  if (!(sd > 1e-9 * Math.max(1, Math.abs(mean)))) return `${signed(mean)}, known`;
  const digits = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(sd))));
  return `${signed(Number(mean.toFixed(digits)))} ± ${plain(sd)}`;
}

export function counted(count, word, plural = `${word}s`) {
  return `${count} ${count === 1 ? word : plural}`;
}

/** Return a list as a sentence says it: "a, b and c". */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
