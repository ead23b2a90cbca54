interface ZoomButtonsProps {
  isWhole: boolean;
  isMost: boolean;
  zoom: (factor: number) => void;
  reset: () => void;
}

export function ZoomButtons({ isWhole, isMost, zoom, reset }: ZoomButtonsProps) {
  return (
    <span class="lane-zoom" role="group" aria-label="Zoom of the lanes">
      <button type="button" class="quiet" aria-label="Zoom out" title="Key −" disabled={isWhole} onClick={() => zoom(1 / 2)}>
        −
      </button>
      <button type="button" class="quiet" aria-label="Zoom in" title="Key +; Ctrl and the wheel zoom, too" disabled={isMost} onClick={() => zoom(2)}>
        +
      </button>
      <button type="button" class="quiet" title="Key 0" disabled={isWhole} onClick={reset}>
        Whole run
      </button>
    </span>
  );
}
