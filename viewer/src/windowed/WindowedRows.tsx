// Rows of which only those in sight are elements; empty elements stand for the others, so that scrolling works as always.
import { Component, type VNode } from "preact";
import type { Self } from "../parts/self";
import { RowHeights } from "./heights";

/** Pixels above and below what is in sight in which rows are drawn too. */
const MARGIN = 500;

interface WindowedRowsProps<T> {
  self?: Self<WindowedRows<T>>;
  items: readonly T[];
  keyOf: (item: T) => string;
  /** Draws a row, which must be one element. */
  row: (item: T, place: number) => VNode;
  /** Pixels of a row that was not drawn yet. */
  guess: number;
  /** All rows are drawn if there are at most as many. */
  least: number;
  /** Whether the rows scroll in a box of their own, or with the page. */
  scrolls: "box" | "page";
  /** A row that is drawn wherever it is, because it has the focus. */
  pinned?: number;
  /** A list, or the rows of a table. */
  tag: "ol" | "div";
  class: string;
  /** Called after rows were drawn. */
  drawn?: () => void;
}

interface Range {
  from: number;
  to: number;
}

export class WindowedRows<T> extends Component<WindowedRowsProps<T>, Range> {
  override state: Range = { from: 0, to: 0 };
  private readonly box: { current: HTMLElement | null } = { current: null };
  private heights = new RowHeights(0, 1);
  private items: readonly T[] = [];
  private readonly measured = new Map<string, number>();
  /** The rows that are elements now, in order; null is an empty element. */
  private shown: (number | null)[] = [];
  private observer: ResizeObserver | null = null;
  private isPrinted = false;

  private get isWhole(): boolean {
    return this.props.items.length <= this.props.least;
  }

  override componentWillMount(): void {
    if (this.props.self) this.props.self.current = this;
    this.count();
  }

  override componentDidMount(): void {
    this.scroller.addEventListener("scroll", this.look, { passive: true });
    window.addEventListener("resize", this.look);
    window.addEventListener("beforeprint", this.beforePrint);
    window.addEventListener("afterprint", this.afterPrint);
    this.observer = new ResizeObserver(this.look);
    this.observer.observe(this.box.current!);
    this.settle();
  }

  override componentWillUnmount(): void {
    this.scroller.removeEventListener("scroll", this.look);
    window.removeEventListener("resize", this.look);
    window.removeEventListener("beforeprint", this.beforePrint);
    window.removeEventListener("afterprint", this.afterPrint);
    this.observer?.disconnect();
  }

  override componentDidUpdate(): void {
    this.settle();
  }

  /** Paper does not scroll: the first rows are printed. */
  private readonly beforePrint = () => {
    this.isPrinted = true;
    this.setState({ from: 0, to: Math.min(this.props.least, this.items.length) });
  };

  private readonly afterPrint = () => {
    this.isPrinted = false;
    this.look();
  };

  private get scroller(): HTMLElement | Document {
    return this.props.scrolls === "box" ? this.box.current! : document;
  }

  /** Takes other rows, with the heights that are known of them. */
  private count(): void {
    const { items, keyOf, guess } = this.props;
    if (items === this.items) return;
    this.items = items;
    if (this.isWhole) return;
    this.heights = new RowHeights(items.length, guess);
    if (this.measured.size) {
      items.forEach((item, row) => {
        const height = this.measured.get(keyOf(item));
        if (height !== undefined) this.heights.set(row, height);
      });
    }
  }

  private range(): Range {
    const box = this.box.current;
    const room = this.props.scrolls === "box" ? (box?.clientHeight ?? 600) : innerHeight;
    const top = !box ? 0 : this.props.scrolls === "box" ? box.scrollTop : -box.getBoundingClientRect().top;
    const from = this.heights.at(Math.max(top - MARGIN, 0));
    return { from, to: Math.min(this.heights.at(Math.max(top, 0) + room + MARGIN) + 1, this.items.length) };
  }

  private readonly look = () => {
    if (this.isWhole || this.isPrinted || !this.box.current) return;
    const { from, to } = this.range();
    if (from !== this.state.from || to !== this.state.to) this.setState({ from, to });
  };

  /** Learns how high the drawn rows are; then other rows may be in sight. */
  private settle(): void {
    if (!this.isWhole) {
      const nodes = this.box.current!.children;
      this.shown.forEach((row, place) => {
        const node = nodes[place];
        if (row === null || !(node instanceof HTMLElement)) return;
        const height = node.getBoundingClientRect().height;
        this.heights.set(row, height);
        this.measured.set(this.props.keyOf(this.items[row]!), height);
      });
      this.look();
    }
    this.props.drawn?.();
  }

  /** Scrolls the box to a row, and nothing else; scrollIntoView would move the page too. */
  reveal(row: number): void {
    const box = this.box.current;
    if (!box || row < 0) return;
    const place = this.places(row);
    if (place.top < box.scrollTop) box.scrollTop = place.top;
    else if (place.bottom > box.scrollTop + box.clientHeight) box.scrollTop = place.bottom - box.clientHeight;
    this.look();
  }

  /** Where a row of the box is: its element says it, if there is one. */
  private places(row: number): { top: number; bottom: number } {
    const box = this.box.current!;
    const node = box.children[this.isWhole ? row : this.shown.indexOf(row)];
    if (!(node instanceof HTMLElement)) return { top: this.heights.top(row), bottom: this.heights.top(row + 1) };
    const top = node.offsetTop - (node.offsetParent === box ? 0 : box.offsetTop);
    return { top, bottom: top + node.offsetHeight };
  }

  render() {
    this.count();
    const { items, keyOf, row, tag, pinned = -1 } = this.props;
    const { from, to } = this.isWhole ? { from: 0, to: items.length } : this.state.to && this.state.to <= items.length ? this.state : this.range();
    const rows: number[] = [];
    if (pinned >= 0 && pinned < from) rows.push(pinned);
    for (let place = from; place < to; place += 1) rows.push(place);
    if (pinned >= to && pinned < items.length) rows.push(pinned);
    this.shown = [];
    const children: VNode[] = [];
    let next = 0;
    const fill = (until: number) => {
      if (until <= next || this.isPrinted) return;
      this.shown.push(null);
      const height = `${this.heights.top(until) - this.heights.top(next)}px`;
      children.push(tag === "ol" ? <li key={`to ${until}`} class="unseen" aria-hidden="true" style={{ height }} /> : <div key={`to ${until}`} class="unseen" role="presentation" style={{ height }} />);
    };
    for (const place of rows) {
      const item = items[place]!;
      fill(place);
      this.shown.push(place);
      children.push(<Row key={keyOf(item)} draw={row} item={item} place={place} />);
      next = place + 1;
    }
    if (!this.isWhole) fill(items.length);
    const shared = { ref: (node: HTMLElement | null) => { this.box.current = node; }, class: this.props.class };
    return tag === "ol" ? <ol {...shared}>{children}</ol> : <div {...shared} role="rowgroup">{children}</div>;
  }
}

function Row<T>({ draw, item, place }: { draw: (item: T, place: number) => VNode; item: T; place: number }) {
  return draw(item, place);
}
