// Keys of a telephone that were pressed.
export function KeyCaps({ digits }: { digits: string }) {
  return (
    <span class="key-caps">
      <span class="hidden">keys </span>
      {[...digits].map((digit) => (
        <kbd>{digit}</kbd>
      ))}
    </span>
  );
}
