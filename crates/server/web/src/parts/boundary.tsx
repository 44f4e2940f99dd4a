// Keeps a fault of one view from emptying the page: it is shown in its place, and the rest goes on.
import { Component, type ComponentChildren } from "preact";
import { Failure } from "../api/client";
import { Problem } from "./basics";

interface Props {
  /** A new place, such as another address, is tried anew. */
  at: string;
  children: ComponentChildren;
}

export class Boundary extends Component<Props, { error: Error | null; at: string }> {
  override state = { error: null as Error | null, at: this.props.at };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(): void {
    if (this.state.at !== this.props.at) this.setState({ error: null, at: this.props.at });
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const failure = new Failure({ title: "page", type: "page", status: 0, detail: error.message });
    return <Problem failure={failure} again={() => this.setState({ error: null })} />;
  }
}
