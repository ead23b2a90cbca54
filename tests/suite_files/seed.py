"""The complete example of a scenario file from the documentation of its format."""

PLACE = "eval/scenarios/order_delay.yml"
ORDER_DELAY = """\
scenario:
  name: Agent handles delayed order gracefully

  simulation_context: >
    You are an impatient customer who escalates quickly if not given a direct answer.
    You want to find out why the order is delayed and get a clear resolution.

  setup:
    initial_slots:
      authenticated: true
      account_id: "12345"
      order_id: "ORD-9981"

  goals:
    criteria:
      - Agent communicates the delay reason clearly and empathetically
      - Agent does not ask the user to repeat information already provided
    assertions:
      - flow_started:
          flow_ids: [check_order_status]
          operator: any
      - flow_completed:
          flow_id: check_order_status
      - flow_cancelled:
          flow_id: verify_identity
      - action_executed: action_check_order_status
      - slot_was_set:
          - name: order_id
            value: "ORD-9981"
      - slot_was_not_set:
          - name: transfer_amount
      - bot_uttered:
          utter_name: utter_order_delayed
      - bot_did_not_utter:
          utter_name: utter_dont_know
      - pattern_clarification_contains:
          flow_ids: [check_order_status, track_shipment]
          operator: any
      - generative_response_is_relevant:
          utter_source: utter_order_status_details
      - generative_response_is_grounded:
          utter_source: utter_order_status_details
      - sequencing:
          - flow_started: verify_identity
          - action_executed: action_verify_account
          - slot_was_set: authenticated
          - flow_completed: verify_identity
          - flow_started: check_order_status
          - flow_completed: check_order_status
"""
DOMAIN = """\
version: "3.1"
slots:
  authenticated: {type: bool, mappings: [{type: controlled}]}
  account_id: {type: text}
  order_id: {type: text}
  transfer_amount: {type: float}
actions:
  - action_check_order_status
  - action_verify_account: {send_domain: true}
responses:
  utter_order_delayed: [{text: It is late.}]
  utter_dont_know: [{text: I do not know.}]
flows:
  check_order_status: {description: looks it up}
  track_shipment: {description: follows it}
  verify_identity: {description: asks who it is}
"""
