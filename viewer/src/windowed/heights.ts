// The heights of many rows, of which most are only guessed: sums and places in logarithmic time (a Fenwick tree).

export class RowHeights {
  private readonly tree: Float64Array;
  private readonly known: Float64Array;

  constructor(
    readonly count: number,
    /** The height of a row that was never measured. */
    readonly guess: number,
  ) {
    this.tree = new Float64Array(count + 1);
    this.known = new Float64Array(count).fill(guess);
  }

  set(row: number, height: number): void {
    const change = height - this.known[row]!;
    if (!change) return;
    this.known[row] = height;
    for (let node = row + 1; node <= this.count; node += node & -node) this.tree[node]! += change;
  }

  /** The place of the top of a row; of the end, if the row is the count of rows. */
  top(row: number): number {
    let sum = row * this.guess;
    for (let node = row; node > 0; node -= node & -node) sum += this.tree[node]!;
    return sum;
  }

  /** The row at a place; the first or the last for places outside. */
  at(place: number): number {
    let row = 0;
    let left = place;
    for (let step = 2 ** Math.floor(Math.log2(this.count || 1)); step >= 1; step /= 2) {
      if (row + step > this.count) continue;
      const height = this.tree[row + step]! + step * this.guess;
      if (height <= left) {
        row += step;
        left -= height;
      }
    }
    return Math.min(row, Math.max(this.count - 1, 0));
  }
}
