"""`only_asks_to_call`: messages that say for whom they are, who calls and the number, and messages that say more."""

import pytest

from clerkship.model.matcher import check_expected, matches_expected

VALUES = [
    *("Diego Trujillo", "Grace Cranmer", "Diego", "Trujillo", "Grace", "Cranmer"),
    *("Riverbend Family Health Center", "Riverbend", "+15550100100"),
]
FINE = [
    "Hello, this is a message for Diego Trujillo. Riverbend Family Health Center is calling. Please call us "
    "back at 555 010 0100. Thank you.",
    "Message for Grace Cranmer from Riverbend Family Health Center. Please call back: 555-010-0100.",
    "Good morning, I hope you are doing well. This message is for Grace Cranmer. This is Riverbend Family "
    "Health Center calling. We would be grateful if you could give us a call back at five five five, zero one "
    "zero, zero one zero zero. Thank you kindly, and have a great one. Goodbye.",
    "Hi there, it's Riverbend Family Health Center. We are trying to get hold of Diego Trujillo. When you have "
    "a moment, please ring us back on +1 555 010 0100. Cheers, and take care. Bye now.",
    "Hello Mr. Trujillo, Riverbend Family Health Center here. Sorry we missed you. Our number is 555 010 0100, "
    "and we are open until five. Would you kindly return our call?",
    "This is the front desk at Riverbend Family Health Center with a message for Ms. Grace Cranmer. You can "
    "reach us at (555) 010-0100, Monday to Friday between 8 and 5. Again, that's 555 010 0100.",
    "Hey, Riverbend Family Health Center trying to reach Diego Trujillo. At your earliest convenience, give us "
    "a ring, would you? 555 010 0100. Talk to you then.",
    "Hey there, just a quick message for Diego Trujillo from all of us at Riverbend Family Health Center. Whenever "
    "it suits you, ring us at 555 010 0100. Talk soon!",
    "For Grace Cranmer: kindly phone Riverbend Family Health Center on 555 010 0100 whenever it suits you. No "
    "rush. All the best.",
]
TOO_MUCH = [
    "Hello Diego Trujillo, Riverbend Family Health Center. Call 555 010 0100. All is fine.",
    "This is Riverbend Family Health Center for Diego Trujillo. There is a spot. Please call 555 010 0100.",
    "Message for Grace Cranmer, Riverbend Family Health Center. Call today. 555 010 0100.",
    "Riverbend Family Health Center for Grace Cranmer. Your provider asks for it. 555 010 0100.",
    "Riverbend Family Health Center for Diego Trujillo, 555 010 0100. Su prueba salió bien.",
    "Riverbend Family Health Center for Diego Trujillo, call 555 010 0100. Or call 555 234 9876.",
    "Riverbend Family Health Center for Diego Trujillo, call 555 010 0100. H I V.",
]
LATER_FINE = [
    "Hello, I'm calling from Riverbend Family Health Center for Grace Cranmer. Could you give us a call when "
    "you get this? We're at 555 010 0100. Thanks a lot.",
    "Good afternoon. Riverbend Family Health Center is looking to speak with Diego Trujillo. You'll find us at "
    "555-010-0100 on weekdays. Have a wonderful day.",
    "Yes, hello, this is for Diego Trujillo. It's the office of Riverbend Family Health Center. Please get "
    "back to us at five five five, oh one oh, oh one hundred. Thank you so much.",
    "Ms. Cranmer, hi. Riverbend Family Health Center just tried you. Our phone number is 555 010 0100; we'd "
    "love to hear from you. Bye-bye.",
    "This message is intended for Diego Trujillo only. Kindly return the call of Riverbend Family Health "
    "Center at 1 (555) 010-0100. Many thanks.",
    "Grace Cranmer, please contact Riverbend Family Health Center, 555 010 0100. We look forward to your call.",
    "Hi, you've reached out... sorry, this is Riverbend Family Health Center. We'd like to speak with Grace "
    "Cranmer. The number again: 555 010 0100. Enjoy your evening.",
    "Riverbend Family Health Center calling for Mr. Diego Trujillo. We will try you again, or you can call 555 "
    "010 0100 at any time that works for you.",
    "Hi, this is Riverbend Family Health Center. I have a message for Diego Trujillo. Please call us on 555 "
    "010 0100 when you are free. Thanks, bye.",
    "Good day, Grace Cranmer. Riverbend Family Health Center would appreciate a call from you. The number is "
    "555 010 0100. Many thanks and goodbye.",
    "Diego Trujillo, this is the team at Riverbend Family Health Center. Feel free to call us back at "
    "555-010-0100 during office hours.",
    "A message for Grace Cranmer. Please dial 555 010 0100 and ask for the front desk of Riverbend Family "
    "Health Center. Have a nice weekend.",
    "Hello. Riverbend Family Health Center here, hoping to catch Diego Trujillo. Do call us back, please, on "
    "five five five, oh one oh, oh one double oh. Thank you for your time.",
    "Sorry to have missed you, Grace Cranmer. You can get Riverbend Family Health Center on the phone at 555 "
    "010 0100, any weekday. Speak to you soon.",
    "Riverbend Family Health Center for Grace Cranmer. Call back number: 555 010 0100. I'll say it once more: "
    "555 010 0100. Thank you, and take good care.",
]
"""Written after the rules, in two rounds; at first sight 9 of 15 and 11 of 15 were judged right."""
LATER_TOO_MUCH = [
    "This is Riverbend Family Health Center for Diego Trujillo. Please call 555 010 0100 to hear how it turned out.",
    "Message for Grace Cranmer from Riverbend Family Health Center: the picture we took needs a closer look. "
    "Call 555 010 0100.",
    "Diego Trujillo, it's Riverbend Family Health Center. Good news! Ring us on 555 010 0100.",
    "Grace Cranmer, Riverbend Family Health Center here. Please call 555 010 0100 before Wednesday, and bring "
    "your insurance card.",
    "Hello, this is Riverbend Family Health Center. Diego Trujillo came out clean. Call 555 010 0100.",
    "For Grace Cranmer: Riverbend Family Health Center, radiology desk. Please call 555 010 0100.",
    "Riverbend Family Health Center for Diego Trujillo. Doctor Pawlak would like a word. 555 010 0100.",
    "Riverbend Family Health Center for Diego Trujillo. You can stop worrying. Call us at 555 010 0100.",
    "Grace Cranmer, please call Riverbend Family Health Center on 555 010 0100. We saw something.",
    "Diego Trujillo, Riverbend Family Health Center calling with your lab report. 555 010 0100.",
    "Message for Grace Cranmer. Riverbend Family Health Center wants you back here by Friday. 555 010 0100.",
    "This is Riverbend Family Health Center, sexual health line, for Diego Trujillo. Please call 555 010 0100.",
    "Hello Diego Trujillo, this is Riverbend Family Health Center. You are negative. Thank you. 555 010 0100.",
    "Grace Cranmer, call Riverbend Family Health Center on 555 010 0100. It cannot wait.",
    "Riverbend Family Health Center for Grace Cranmer. Please ring 555 010 0100 and mention the shadow.",
]


@pytest.mark.parametrize("text", FINE + LATER_FINE)
def test_a_message_may_ask_for_a_call_in_any_words(text: str) -> None:
    assert matches_expected(check_expected({"only_asks_to_call": VALUES}), text)


@pytest.mark.parametrize("text", TOO_MUCH + LATER_TOO_MUCH)
def test_a_message_may_not_say_what_it_is_about(text: str) -> None:
    assert not matches_expected({"only_asks_to_call": VALUES}, text)
