// What a mark stands for, shown below it while it is pointed at or has the focus.
import { Component, createRef } from "preact";
import type { Self } from "../parts/self";

interface Tip {
  lines: string[];
  left: number;
  top: number;
}

export interface TipHandlers {
  onPointerEnter: (event: { currentTarget: Element }) => void;
  onFocus: (event: { currentTarget: Element }) => void;
  onPointerLeave: () => void;
  onBlur: () => void;
}

export class LaneTip extends Component<{ self: Self<LaneTip> }, Tip> {
  override state: Tip = { lines: [], left: 0, top: 0 };
  private readonly node = createRef<HTMLDivElement>();

  override componentWillMount(): void {
    this.props.self.current = this;
  }

  readonly hide = () => {
    if (this.state.lines.length) this.setState({ lines: [] });
  };

  /** The handlers of an element that shows some lines. */
  for(lines: () => string[]): TipHandlers {
    const show = ({ currentTarget }: { currentTarget: Element }) => {
      const frame = this.node.current!.parentElement!.getBoundingClientRect();
      const box = currentTarget.getBoundingClientRect();
      this.setState({ lines: lines(), left: (box.left + box.right) / 2 - frame.left - 20, top: box.bottom - frame.top + 6 });
    };
    return { onPointerEnter: show, onFocus: show, onPointerLeave: this.hide, onBlur: this.hide };
  }

  /** A tip at the right edge is moved left until it fits. */
  override componentDidUpdate(): void {
    const node = this.node.current!;
    const most = node.parentElement!.clientWidth - node.offsetWidth;
    node.style.left = `${Math.max(Math.min(this.state.left, most), 0)}px`;
  }

  render() {
    const { lines, top } = this.state;
    return (
      <div ref={this.node} class="lane-tip" aria-hidden="true" hidden={!lines.length} style={{ top: `${top}px` }}>
        {lines.map((line) => (
          <p>{line}</p>
        ))}
      </div>
    );
  }
}
