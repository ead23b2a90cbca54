// Arrows from cause to effect in the timeline. They run from dot to dot, so they are measured after each layout.
import { Component } from "preact";
import type { Self } from "../parts/self";
import type { OpenTrial } from "../trial";

interface ArrowsProps {
  self: Self<Arrows>;
  trial: OpenTrial;
  frame: { current: HTMLElement | null };
}

interface Drawing {
  paths: string;
  width: number;
  height: number;
}

interface Spot {
  x: number;
  y: number;
}

export class Arrows extends Component<ArrowsProps, Drawing> {
  override state: Drawing = { paths: "", width: 0, height: 0 };

  override componentWillMount(): void {
    this.props.self.current = this;
  }

  draw(): void {
    const frame = this.props.frame.current;
    if (!frame?.isConnected) return;
    const origin = frame.getBoundingClientRect();
    const spots = new Map<number, Spot>();
    for (const row of frame.querySelectorAll<HTMLElement>(".event")) {
      const box = row.querySelector(".track > i")!.getBoundingClientRect();
      spots.set(Number(row.dataset.seq), { x: box.left + box.width / 2 - origin.left, y: box.top + box.height / 2 - origin.top });
    }
    const paths: string[] = [];
    for (const [seq, to] of spots) {
      const from = spots.get(this.props.trial.bySeq.get(seq)?.cause ?? 0);
      if (from) paths.push(curve(from, to));
    }
    const drawing = { paths: paths.join("\n"), width: frame.clientWidth, height: frame.clientHeight };
    const { state } = this;
    if (drawing.paths !== state.paths || drawing.width !== state.width || drawing.height !== state.height) this.setState(drawing);
  }

  render() {
    const { paths, width, height } = this.state;
    return (
      <svg class="arrows" aria-hidden="true" width={width} height={height}>
        {paths && paths.split("\n").map((d) => <path d={d} marker-end="url(#arrow)" />)}
      </svg>
    );
  }
}

function curve(from: Spot, to: Spot): string {
  const down = to.y >= from.y ? 6 : -6;
  if (Math.abs(from.x - to.x) < 1) {
    return `M${from.x + 4} ${from.y + down / 2}C${from.x + 16} ${from.y + 2 * down},${to.x + 16} ${to.y - 2 * down},${to.x + 6} ${to.y - down / 2}`;
  }
  const middle = (from.y + to.y) / 2;
  return `M${from.x} ${from.y + down}C${from.x} ${middle},${to.x} ${middle},${to.x} ${to.y - down}`;
}
