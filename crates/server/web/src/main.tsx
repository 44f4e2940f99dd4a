import { render } from "preact";
import { listen, loadDumps } from "./api/events";
import { App } from "./app";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/start.css";
import "./styles/grid.css";
import "./styles/heap.css";
import "./styles/inspector.css";
import "./styles/pictures.css";
import "./styles/live.css";
import "./styles/logs.css";
import "./styles/slow.css";
import "./theme";

render(<App />, document.getElementById("page")!);
void loadDumps();
listen();
