// A component that is drawn again only when one of its properties is another value.
import { Component, type ComponentType } from "preact";

export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const names = Object.keys(next) as (keyof P)[];
      return names.length !== Object.keys(this.props).length || names.some((name) => next[name] !== (this.props as P)[name]);
    }

    render() {
      return <Inner {...(this.props as P)} />;
    }
  };
}
